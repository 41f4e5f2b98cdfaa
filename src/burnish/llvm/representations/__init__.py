"""Representations of programs: graphs, token sequences and vectors."""
