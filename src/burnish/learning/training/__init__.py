"""Learning from a corpus: what `burnish train` runs."""
