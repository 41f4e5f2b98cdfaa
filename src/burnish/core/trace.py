"""Trace entries: what was done, and where.

An entry is `action` when it applied to the whole program and `site: action` otherwise. Action texts
never contain `": "`, site names (mangled C++, say) may.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

WHOLE_PROGRAM = ""

Trace = tuple[str, ...]

_OPEN = re.compile(r"\?(\d+)(?:: (.+))?")


def entry(action: str, site: str = WHOLE_PROGRAM) -> str:
    """Write one trace entry."""
    return f"{site}: {action}" if site else action


def split_entry(text: str) -> tuple[str, str]:
    """Read one trace entry: (site, action); the site of a whole-program action is ""."""
    site, _, action = text.rpartition(": ")
    return site, action


def open_entry(draw: int, action: str = "") -> str:
    """Write an entry that stands for one of those that are legal where it comes.

    Which one depends on the number and the state alone: one that has the action, where there is any. Only
    what a search proposes has such entries: in what was applied, there is the entry that was drawn.
    """
    return entry(action, f"?{draw}") if action else f"?{draw}"


def draw_of(text: str) -> tuple[int, str] | None:
    """Return the number and the action, "" for any, of an open entry; None for another entry."""
    found = _OPEN.fullmatch(text)
    return (int(found[1]), found[2] or "") if found else None


def join_trace(entries: Iterable[str]) -> str:
    """Write a trace on one line, for people."""
    return " → ".join(entries)
