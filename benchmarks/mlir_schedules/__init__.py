"""Schedules of linalg programs beside what users would otherwise take: what schedules.py measures.

requirements.txt  the peers, which nothing else of burnish needs
cases             the programs: held-out ones of each family, larger products, networks
benches           a program's arrays, and what it must make of them
traces            ours: a trace for a program, from a file, by hand, or searched within some seconds
peers             what a peer is: its forms, checked against the reference
torch_ops, torch_forms, compile_forms, jax_ops, jax_forms, iree_forms
                  each family of programs as a peer's user would write it
rounds            interleaved samples, fewer of what is slow
rows              a case: a line of JSON, and the ratios in it
floors            what the ratios must hold
tables, pictures  what is printed and drawn
"""
