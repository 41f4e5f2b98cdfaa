"""What all commands have in common: how words are parsed, and how numbers, tables and progress are shown."""
