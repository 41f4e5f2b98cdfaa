"""The cost model of schedules, and the policy that uses it; both run without torch."""
