"""Linalg programs as functions: schedules that are found, and what runs them."""
