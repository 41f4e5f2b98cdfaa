"""States as short texts."""

from __future__ import annotations

import re

import numpy as np

from burnish.core.listing import Listing, Section
from burnish.core.objective import GraphArrays, Observation
from burnish.core.texts import cut, observed_text

TEXT = Observation("text", "a text", kind="text")


def by_paragraph(text: str, details: bool) -> list[Section]:
    """Split a text at empty lines; a section's first line is its name."""
    parts = [part.splitlines() for part in text.split("\n\n")]
    return [Section(part[0], part[0].upper(), tuple(part)) for part in parts]


NUMBERED = Listing("text", by_paragraph, re.compile(r"%\d+"))


def test_array_is_the_entries_that_are_not_0() -> None:
    counts = Observation("counts", "counts", shape=(3,), columns=("a", "b", "c"))
    assert observed_text(counts, np.array([1, 0, 5])) == "a 1\nc 5"
    assert observed_text(counts, np.array([1, 2, 5]), np.array([1, 0, 5])) == "@@ program\n a 1\n+b 2\n c 5"


def test_bytes_and_graphs_are_their_sizes() -> None:
    assert observed_text(Observation("bitcode", "", kind="bytes"), b"abc") == "3 bytes"
    graph = GraphArrays(np.zeros((2, 1), np.int64), np.zeros((3, 4), np.int64))
    assert observed_text(Observation("graph", "", kind="graph"), graph) == "2 nodes, 3 edges"


def test_changed_sections_are_under_their_titles() -> None:
    before = "f\nstore\nload\n\ng\nret"
    after = "f\nstore\n\ng\nret\n\nh\nnew"
    assert observed_text(TEXT, after, before, listing=NUMBERED) == "@@ F\n f\n store\n-load\n@@ H\n+h\n+new"


def test_numbers_alone_are_no_change() -> None:
    assert observed_text(TEXT, "f\n%1 = add %0", "f\n%7 = add %6", listing=NUMBERED) == "text is unchanged"
    changed = observed_text(TEXT, "f\n%1 = sub %0", "f\n%7 = add %6", listing=NUMBERED)
    assert changed == "@@ F\n f\n-%7 = add %6\n+%1 = sub %0"


def test_long_texts_are_cut_with_a_note() -> None:
    assert cut("abcdef", 4) == "abcd\n... (2 more characters)"
    assert cut("abcd", 4) == "abcd"
