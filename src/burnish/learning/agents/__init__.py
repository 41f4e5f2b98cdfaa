"""Learning agents: policies with their heads and critics, and one file for each algorithm.

Modules here import torch. Code that only applies a trained policy uses burnish.policies, which does not.
"""
