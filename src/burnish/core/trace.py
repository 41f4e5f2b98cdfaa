"""Trace entries: what was done, and where.

An entry is `action` when it applied to the whole program and `site: action` otherwise. Action texts
never contain `": "`, site names (mangled C++, say) may.
"""

from __future__ import annotations

from collections.abc import Iterable

WHOLE_PROGRAM = ""

Trace = tuple[str, ...]


def entry(action: str, site: str = WHOLE_PROGRAM) -> str:
    """Write one trace entry."""
    return f"{site}: {action}" if site else action


def split_entry(text: str) -> tuple[str, str]:
    """Read one trace entry: (site, action); the site of a whole-program action is ""."""
    site, _, action = text.rpartition(": ")
    return site, action


def join_trace(entries: Iterable[str]) -> str:
    """Write a trace on one line, for people."""
    return " → ".join(entries)
