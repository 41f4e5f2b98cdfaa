"""Code that all commands share: parsing of options, and output of numbers, tables and progress."""
