"""States as short texts: observations, and their changes since another state."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import numpy as np

from burnish.core.errors import UnknownName
from burnish.core.listing import Listing, Section, whole
from burnish.core.objective import GraphArrays, Observation
from burnish.core.view import Observed

MOST_CHARACTERS = 8000  # of an observation's text; about 2,000 tokens of a language model
CONTEXT = 2  # unchanged lines around a change
EXACT = 400  # lines; in longer sections, difflib ignores frequent lines as anchors, and so stays fast


def observed_text(
    observation: Observation,
    seen: Observed,
    before: Observed | None = None,
    *,
    listing: Listing | None = None,
    site: str = "",
    most: int = MOST_CHARACTERS,
) -> str:
    """Return an observation as text; with `before`, only its changes since that observation.

    Args:
        observation: The observation.
        seen: Its value.
        before: Its value in an earlier state.
        listing: How people read the task's text: if it is this one, noise is left out, and lines that differ
            only in renumbered names are unchanged.
        site: Show only the part of this name, a function for example; "" for all.
        most: Characters after which the text is cut.

    Raises:
        UnknownName: the text has no such part.
    """
    if listing is None or listing.observation != observation.name:
        listing = Listing(observation.name, whole)
    now = _sections(listing, _whole_text(observation, seen), site)
    if before is None:
        return cut("\n".join(line for section in now for line in section.lines), most)
    old = _sections(listing, _whole_text(observation, before), site)
    return cut("\n".join(_changes(old, now, listing)) or f"{observation.name} is unchanged", most)


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return the beginning of a text, with a note if the rest is left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n... ({len(text) - most} more characters)"


def _changes(before: list[Section], after: list[Section], listing: Listing) -> Iterator[str]:
    """Yield the lines of a difference as diff -u writes them, each changed section under its title."""
    old, new = ({section.name: section for section in sections} for sections in (before, after))
    for name in dict.fromkeys((*new, *old)):
        lines = [sections[name].lines if name in sections else () for sections in (old, new)]
        if lines[0] == lines[1]:
            continue
        first, second = ([_without_numbers(line, listing) for line in one] for one in lines)
        matcher = difflib.SequenceMatcher(None, first, second, autojunk=len(first) > EXACT)
        groups = list(matcher.get_grouped_opcodes(CONTEXT))
        if groups:
            yield f"@@ {(new.get(name) or old[name]).title}"
        for group in groups:
            for tag, start, end, low, high in group:
                if tag == "equal":
                    yield from (f" {line}" for line in lines[1][low:high])
                    continue
                yield from (f"-{line}" for line in lines[0][start:end])
                yield from (f"+{line}" for line in lines[1][low:high])


def _sections(listing: Listing, text: str, site: str) -> list[Section]:
    sections = listing.sections(text, False)
    if not site:
        return sections
    found = [section for section in sections if section.name == site]
    if not found:
        raise UnknownName.among(
            f"part of {listing.observation}", site, [one.name for one in sections if one.name]
        )
    return found


def _without_numbers(line: str, listing: Listing) -> str:
    return listing.renumbered.sub("", line) if listing.renumbered else line


def _whole_text(observation: Observation, seen: Observed) -> str:
    """Return a text, or the entries of an array that are not 0, a line each."""
    if isinstance(seen, str):
        return seen
    if isinstance(seen, bytes):
        return f"{len(seen)} bytes"
    if isinstance(seen, GraphArrays):
        return f"{len(seen.nodes)} nodes, {len(seen.edges)} edges"
    flat = np.asarray(seen).ravel()
    columns = list(observation.columns)
    named = columns if len(columns) == len(flat) else list(map(str, range(len(flat))))
    return "\n".join(f"{name} {value:g}" for name, value in zip(named, flat, strict=True) if value)
