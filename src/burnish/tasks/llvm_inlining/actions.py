"""The two answers to a question of the inliner."""

from __future__ import annotations

ACTIONS = ("leave", "inline")
LEAVE, INLINE = range(2)
DESCRIPTIONS = {
    "leave": "Leave the call that the compiler asks about as a call",
    "inline": "Inline the call that the compiler asks about",
}
