"""Number formats for people. Units are in the headings, so seconds stay seconds; ratios have no unit."""

from __future__ import annotations

import math


def cost_text(cost: float) -> str:
    """Write a cost, counts in full and times with three digits: 1234, 12.5, 0.0317, 0.0000331."""
    if not math.isfinite(cost):
        return str(cost)
    if abs(cost) >= 1000 or cost == int(cost):
        return f"{cost:.0f}"
    places = max(0, 2 - math.floor(math.log10(abs(cost))))
    text = f"{cost:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def ratio_text(ratio: float, low: float | None, high: float | None) -> str:
    """Write a ratio and its interval, if there is one."""
    return f"{ratio:.3f}" if low is None or high is None else f"{ratio:.3f} [{low:.3f}, {high:.3f}]"


def change_text(percent: float | None) -> str:
    """Write a change: +1.25 %; "" if it is unknown."""
    return "" if percent is None else f"{percent:+.2f} %" if percent else "0 %"


def duration_text(seconds: float) -> str:
    """Write a duration as h:mm:ss."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
