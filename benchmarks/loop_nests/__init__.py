"""Loop nests beside what their users would otherwise take: what nests.py and loop_searches.py measure.

requirements.txt  the peers, which nothing else of burnish needs
cases             the nests, and in which split each of them is
peers             what a peer is: its forms, checked against burnish's reference
numpy_forms, torch_forms, numba_forms, numba_loops, jax_forms
                  each family of nests as a peer's user would write it
schedules         ours: a loop tree for a nest, within some seconds
probe             the machine's peak: a loop of fused multiplications and additions
one_thread        one core and one thread for everybody
rounds            interleaved samples
rows              a case: a line of JSON, and the ratios in it
floors            what the ratios must hold
tables, pictures  what is printed and drawn
"""
