"""Training of cost models of nests: measure schedules of nests, then fit a model."""
