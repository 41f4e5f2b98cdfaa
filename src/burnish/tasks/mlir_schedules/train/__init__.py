"""The training of cost models of ops."""
