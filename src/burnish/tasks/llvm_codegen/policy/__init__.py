"""Policies of evictions in register allocation, and the data that they learn from."""
