"""Learning with torch: agents and their networks, training runs, portfolios of sequences."""
