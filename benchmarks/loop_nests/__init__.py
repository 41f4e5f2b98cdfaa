"""Comparison of loop nests with other libraries; nests.py and loop_searches.py run it.

requirements.txt  the peers' packages, which the rest of burnish does not need
cases             the nests, and the split of each
own, own_loops    expressions of no family, and their loops for Numba
peers             the peers and their forms, checked against burnish's reference
numpy_forms, torch_forms, numba_forms, numba_loops, jax_forms
                  each family of nests as a peer's user would write it
schedules         our loop trees for a nest, found within some seconds
one_thread        one core and one thread for all contenders
rounds            interleaved samples
rows              a measured case: a line of JSON, and its ratios
floors            the least ratios that are required
tables, pictures  the printed tables and the pictures
"""
