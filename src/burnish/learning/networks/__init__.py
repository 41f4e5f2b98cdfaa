"""Networks that turn observations into vectors; `from_table.build_encoder` makes them from a table."""
