"""What to expect of more machines: see benchmarks/scaling.py.

costs       what a training and an engine cost on one machine, measured or given
formulas    iterations of DD-PPO and shards, by formulas
simulated   the same by random draws, event by event
"""
