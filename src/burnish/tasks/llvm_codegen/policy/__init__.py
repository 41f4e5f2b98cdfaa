"""Register allocation: policies of what is evicted, and what they learn from."""
