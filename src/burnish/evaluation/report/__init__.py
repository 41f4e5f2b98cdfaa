"""An evaluation as pictures and as a page."""
