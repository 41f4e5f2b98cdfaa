"""Training on a corpus of programs, as `burnish train` runs it."""
