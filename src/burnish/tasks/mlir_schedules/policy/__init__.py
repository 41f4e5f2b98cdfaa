"""The policy of schedules of linalg programs, op by op."""
