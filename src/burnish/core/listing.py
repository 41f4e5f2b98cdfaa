"""Listings: the texts in which people read a task's states, and compare them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Section(NamedTuple):
    """A part of a state's text that is compared with the part of the same name: a function, for example."""

    name: str  # unique in the text, and the site's name if it is a site; "" for the rest of the text
    title: str  # as people read it: demangled, for example
    lines: tuple[str, ...]
    library: bool = False  # a function of the language's library, which few readers look for


@dataclass(frozen=True)
class Listing:
    """A text observation, and how it is read."""

    observation: str
    sections: Callable[[str, bool], list[Section]]
    """Splits (text, details): without details, leave out all that is noise to a reader."""
    renumbered: re.Pattern[str] | None = None
    """Matches the names that the compiler gives anew in each state: a line that differs only in them is the
    same. Matched against many lines at once, so `^` needs re.MULTILINE."""
    title: Callable[[str], str] = str
    """Returns a site's name as people read it."""
    label: str = ""  # among several listings; the observation by default


def whole(text: str, details: bool) -> list[Section]:
    """Return the text as one section."""
    return [Section("", "program", tuple(text.splitlines()))]
