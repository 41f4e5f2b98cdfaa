"""Generated programs: by family and extents, or by seed."""
