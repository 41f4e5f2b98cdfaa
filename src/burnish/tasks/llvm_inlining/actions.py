"""The two answers to a question of the inliner."""

from __future__ import annotations

ACTIONS = ("leave", "inline")
LEAVE, INLINE = range(2)
