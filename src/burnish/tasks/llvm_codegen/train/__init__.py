"""Training of policies of evictions; needs torch."""
