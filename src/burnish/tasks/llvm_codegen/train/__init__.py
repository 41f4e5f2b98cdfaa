"""How policies of evictions are trained: it needs torch."""
