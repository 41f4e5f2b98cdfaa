"""Number formats for people. A terminal's tables have units in their headings, so seconds stay seconds."""

from __future__ import annotations

import math

TIMES = ("s", "seconds")  # units of objectives


def cost_text(cost: float) -> str:
    """Write a cost, counts in full and times with three digits: 1234, 12.5, 0.0317, 0.0000331."""
    if not math.isfinite(cost):
        return str(cost)
    if abs(cost) >= 1000 or cost == int(cost):
        return f"{cost:.0f}"
    places = max(0, 2 - math.floor(math.log10(abs(cost))))
    text = f"{cost:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_SCALES = ((3600, "h", 6000), (60, "min", 100), (1, "s", 1), (1e-3, "ms", 1e-3), (1e-6, "µs", 0))
"""Sizes in seconds, units, and the least seconds that are written in the unit."""


def seconds_text(seconds: float) -> str:
    """Write a time with three digits and its unit, as the explorer's page does: 15.3 µs, 2.4 ms, 3.5 min."""
    if not math.isfinite(seconds):
        return str(seconds)
    if not seconds:
        return "0 s"
    size, unit = next((size, unit) for size, unit, least in _SCALES if abs(seconds) >= least)
    return f"{cost_text(float(f'{seconds / size:.3g}'))} {unit}"


def quantity_text(cost: float, unit: str) -> str:
    """Write a cost with its unit: 1234 instructions, 15.3 µs."""
    return seconds_text(cost) if unit in TIMES else f"{cost_text(cost)} {unit}"


def amount_text(cost: float, unit: str) -> str:
    """Write a cost without its unit; a time keeps it: 1234, 15.3 µs."""
    return seconds_text(cost) if unit in TIMES else cost_text(cost)


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
