"""What the commands' arguments have in common."""

from __future__ import annotations

from collections.abc import Sequence


def split_at_dashes(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split at a double dash: the command's own words, and clang's."""
    words = list(arguments)
    if "--" not in words:
        return words, ()
    cut = words.index("--")
    return words[:cut], tuple(words[cut + 1 :])
