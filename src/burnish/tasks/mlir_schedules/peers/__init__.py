"""Other implementations of linalg programs, which results are compared with.

session      a program computed by torch in place of a schedule, as `burnish compare --against torch` opens it
torch_forms  the ways in which torch computes a program: a family's, or a module's in each memory format
torch_ops    each family, as a user of torch would write it
way          a way: how it is made, and how its output is read
"""
