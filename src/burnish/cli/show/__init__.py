"""What people see of a command: numbers, tables, live lines and reports."""
