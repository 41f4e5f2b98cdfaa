"""The training of cost models of schedules."""
