"""Networks that turn observations into vectors."""
