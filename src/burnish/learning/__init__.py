"""What is learned, with torch: agents and their networks, trainings, portfolios of sequences."""
