"""Policies shipped with burnish: for each a file TASK-OBJECTIVE.npz and its card."""
