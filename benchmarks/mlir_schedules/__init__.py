"""Comparison of schedules of linalg programs with other compilers; schedules.py runs it, with `kit`.

requirements.txt  the peers' packages, which the rest of burnish does not need
cases             the programs: held-out ones of each family, larger products, networks
benches           a program's arrays and its expected output
traces            our traces for a program: from a file, written by hand, or searched within some seconds
peers             the peers and their forms, checked against the reference
torch_forms, compile_forms, jax_ops, jax_forms, iree_forms
                  each family of programs as a peer's user would write it
linked            our schedule as the C function of a shared object
rows, floors, tables, pictures
                  a measured case, the required ratios, the printed tables and the picture
"""
