"""Costs for people: counts in full, times in three digits."""

from __future__ import annotations


def cost_text(cost: float) -> str:
    """Write a cost: 1234, 12.5, 0.0317."""
    return f"{cost:.0f}" if cost >= 1000 or cost == int(cost) else f"{cost:.3g}"
