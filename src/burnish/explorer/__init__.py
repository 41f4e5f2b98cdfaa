"""Interactive work on one program: a tree of states, for people and for language models.

exploration   the states of one program, each opened again when it is needed
folders       paths that may be read and written
mcp_server    explorations for language models, by the Model Context Protocol
texts         states as short texts
"""
