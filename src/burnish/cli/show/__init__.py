"""Display of commands: tables, live lines and reports."""
