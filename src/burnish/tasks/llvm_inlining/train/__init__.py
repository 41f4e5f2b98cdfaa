"""Training on the inliner's answers; needs torch."""
