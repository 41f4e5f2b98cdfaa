"""Detection of misspelled options among clang's, none of which is mistaken for an option of burnish."""

from __future__ import annotations

from collections.abc import Iterable


def meant(option: str, known: Iterable[str]) -> str:
    """Return the known option that a user misspelled; "" if the option is not near to any of them.

    A third of the letters may be wrong, missing, added or swapped with the next one. No long option of clang
    is as near to an option of burnish. native/launcher/misspelled.cpp has the same rule.

    Args:
        option: The user's option, with its dashes, without a value.
        known: burnish's options, with their dashes.
    """
    if not option.startswith("--"):
        return ""
    near = [(_edits(option, name), name) for name in known]
    near = [(edits, name) for edits, name in near if 3 * edits <= len(name) - len("--")]
    return min(near)[1] if near else ""


def _edits(one: str, other: str) -> int:
    """Return the minimum number of changed, added, removed or swapped letters: optimal string alignment."""
    before: list[int] = []
    last, row = before, list(range(len(other) + 1))
    for i, letter in enumerate(one):
        before, last, row = last, row, [i + 1]
        for j, wanted in enumerate(other):
            edits = min(last[j] + (letter != wanted), last[j + 1] + 1, row[j] + 1)
            if i and j and (letter, one[i - 1]) == (other[j - 1], wanted):
                edits = min(edits, before[j - 1] + 1)
            row.append(edits)
    return row[-1]
