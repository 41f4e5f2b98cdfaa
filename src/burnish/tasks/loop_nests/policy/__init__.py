"""The policy of schedules: a cost model, and proposals that it ranks."""
