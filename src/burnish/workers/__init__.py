"""Processes that may crash, hang or eat memory, and what works in them."""
