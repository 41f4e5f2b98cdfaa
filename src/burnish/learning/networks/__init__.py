"""Networks that turn observations into vectors; `build.build_encoder` makes them of a table."""
