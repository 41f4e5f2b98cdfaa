"""Modules of torch as programs."""
