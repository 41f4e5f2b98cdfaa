"""The policy of schedules: a cost model, and what it proposes."""
