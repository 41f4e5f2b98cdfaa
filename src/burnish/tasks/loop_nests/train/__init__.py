"""How cost models of nests are trained: nests are measured, a model is fitted to that."""
