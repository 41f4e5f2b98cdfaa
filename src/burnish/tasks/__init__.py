"""The tasks: one folder each, all of the same shape; other packages bring theirs (burnish.core.registry)."""
