"""The cost model of schedules, in use without torch."""
