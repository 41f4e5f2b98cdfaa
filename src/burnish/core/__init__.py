"""The core contract: programs, sessions, objectives, tasks, guides, results, errors."""
