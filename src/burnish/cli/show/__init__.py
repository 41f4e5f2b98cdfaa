"""Display of results and of evaluations."""
