"""How cost models of ops are trained."""
