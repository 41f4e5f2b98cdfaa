"""States as short texts: observations, and their changes since another state."""

from __future__ import annotations

import difflib

import numpy as np

from burnish.core.objective import GraphArrays, Observation
from burnish.core.view import Observed

MOST_CHARACTERS = 8000  # of an observation's text; about 2,000 tokens of a language model


def observed_text(observation: Observation, seen: Observed, before: Observed | None = None) -> str:
    """Return an observation as text; with `before`, only its changes since that observation."""
    lines = _lines(observation, seen)
    if before is not None:
        old = _lines(observation, before)
        lines = list(difflib.unified_diff(old, lines, "before", "after", lineterm="", n=2))
        if not lines:
            return f"{observation.name} is unchanged"
    return cut("\n".join(lines))


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return the beginning of a text, with a note if the rest is left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n... ({len(text) - most} more characters)"


def _lines(observation: Observation, seen: Observed) -> list[str]:
    """Return the lines of a text, or the entries of an array that are not 0."""
    if isinstance(seen, str):
        return seen.splitlines()
    if isinstance(seen, bytes):
        return [f"{len(seen)} bytes"]
    if isinstance(seen, GraphArrays):
        return [f"{len(seen.nodes)} nodes, {len(seen.edges)} edges"]
    flat = np.asarray(seen).ravel()
    columns = list(observation.columns)
    named = columns if len(columns) == len(flat) else list(map(str, range(len(flat))))
    return [f"{name} {value:g}" for name, value in zip(named, flat, strict=True) if value]
