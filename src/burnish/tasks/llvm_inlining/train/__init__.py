"""What is learned of the inliner's answers: it needs torch."""
