"""Interactive work on one program: a tree of states, for people and for language models.

exploration   the states of one program, each opened again when it is needed
"""
