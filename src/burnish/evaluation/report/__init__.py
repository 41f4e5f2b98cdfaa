"""Reports of evaluations: plots, search graphs and an HTML page."""
