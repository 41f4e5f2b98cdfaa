"""Networks that turn observations into vectors; `build_encoder` makes them from a table."""
