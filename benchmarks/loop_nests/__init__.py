"""Comparison of loop nests with other libraries; nests.py and loop_searches.py run it, with `kit`.

requirements.txt  the peers' packages, which the rest of burnish does not need
cases             the nests, and the split of each
own, own_loops    expressions of no family, and their loops for Numba
peers             the peers and their forms, checked against burnish's reference
numpy_forms, torch_forms, numba_forms, numba_loops, jax_forms
                  each family of nests as a peer's user would write it
schedules         our loop trees for a nest, found within some seconds
rows, floors, tables, pictures
                  a measured case, the required ratios, the printed tables and the pictures
"""
