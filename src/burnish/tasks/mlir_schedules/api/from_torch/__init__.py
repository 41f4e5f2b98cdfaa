"""Import of torch modules as programs."""
