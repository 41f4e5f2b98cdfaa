"""Agents that learn: a policy, the networks that it encodes with, and a file for each algorithm.

Modules here import torch; nothing that only uses a trained policy imports them (burnish.policies does that).
"""
