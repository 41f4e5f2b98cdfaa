"""From the words of a command to what it writes: arguments, results that are read, jobs, outputs."""
