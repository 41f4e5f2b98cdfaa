"""Programs that are written here: by name, by seed."""
