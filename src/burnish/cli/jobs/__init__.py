"""Shared parts of commands: arguments, results that are read, jobs, and outputs."""
