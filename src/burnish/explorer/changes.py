"""The differences between two states' texts, section by section.

Compilers number values anew in every state. So lines are aligned without these numbers, and each number of
the first text gets its counterpart in the second text by a vote over the aligned lines. Lines that differ
in nothing else are unchanged.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from burnish.core.listing import Listing, Section

CONTEXT = 3  # unchanged lines shown around a change, as diff -u shows
EXACT = 400  # lines; in longer sections, difflib ignores frequent lines as anchors, and so stays fast

Numbers = re.Pattern[str] | None  # see Listing.renumbered
Step = tuple[Literal["same", "changed"], int, int, int, int]
"""A run of lines: equal but for numbers, or changed; [start, end) in the first text, then in the second."""

_WORDS = re.compile(r"\w+|\s+|.")


class Line(NamedTuple):
    """A line of a difference, or several unchanged lines that are not shown."""

    kind: Literal["same", "removed", "added"]
    text: str  # as in the text that has it, the second one for an unchanged line; "" if not shown
    marked: tuple[int, int] = (0, 0)  # the columns that differ from the line's counterpart: [from, to)
    stands_for: int = 1  # unchanged lines that this one stands for
    before: str = ""  # of an unchanged line: the first text's line, if its numbers differ


@dataclass(frozen=True)
class SectionChange:
    """The difference of one section."""

    name: str
    title: str
    kind: Literal["changed", "removed", "added"]
    added: int  # lines; 0 if they are unknown
    removed: int
    renamed: Mapping[str, str]  # numbers in the first text, with their counterparts in the second
    lines: tuple[Line, ...]
    compared: bool = True  # False: the lines are unknown, because `most` other sections were compared before


@dataclass(frozen=True)
class Changes:
    """The differences of two texts."""

    sections: tuple[SectionChange, ...]  # in the order of the second text; the rest and removed ones last
    unchanged: int  # sections
    hidden: int = 0  # sections of the language's library that were not compared


def changes(
    first: str, second: str, listing: Listing, *, details: bool = False, library: bool = True
) -> Changes:
    """Compare two texts of one program.

    Args:
        first: The text of the earlier state.
        second: The text of the later state.
        listing: How the texts are read.
        details: Compare also the parts that the listing takes for noise.
        library: Compare also the functions of the language's library.
    """
    both = [listing.sections(text, details) for text in dict.fromkeys((first, second))]
    return section_changes(both[0], both[-1], listing.renumbered, library=library)


def section_changes(
    first: Sequence[Section],
    second: Sequence[Section],
    renumbered: Numbers,
    *,
    library: bool = True,
    most: int | None = None,
) -> Changes:
    """Compare the sections of two texts of one program.

    Args:
        first: The sections of the earlier state's text.
        second: The sections of the later state's text.
        renumbered: Matches the names that the compiler gives anew: see Listing.
        library: Compare also the functions of the language's library.
        most: The most sections whose lines are compared, to save time; all by default.
    """
    before, after = (
        {one.name: one for one in found if library or not one.library} for found in (first, second)
    )
    hidden = len({one.name for found in (first, second) for one in found if one.library and not library})
    found: list[SectionChange] = []
    for name, section in sorted(after.items(), key=lambda item: not item[0]):
        if name not in before:
            found.append(_whole(section, "added"))
        elif most is not None and len(found) >= most and differ(before[name], section, renumbered):
            found.append(SectionChange(name, section.title, "changed", 0, 0, {}, (), compared=False))
        elif change := compare(before[name], section, renumbered):
            found.append(change)
    unchanged = len(after) - len(found)
    found += [_whole(section, "removed") for name, section in before.items() if name not in after]
    return Changes(tuple(found), unchanged, hidden)


def compare(first: Section, second: Section, renumbered: Numbers) -> SectionChange | None:
    """Compare two sections line by line; None if only numbers differ, or nothing."""
    if first.lines == second.lines:
        return None
    steps, renamed = alignment(first.lines, second.lines, renumbered)
    old = with_numbers(first.lines, renamed, renumbered)
    lines: list[Line] = []
    for kind, start, end, low, high in steps:
        parts = first.lines[start:end], old[start:end], second.lines[low:high]
        if kind == "changed":
            lines += _replaced(*parts)
        elif parts[1] == list(parts[2]):
            lines += map(_same, parts[0], parts[2])
        else:
            for before, as_new, now in zip(*parts, strict=True):
                lines += _pair(before, as_new, now)
    lines = _grouped(lines)
    counts = Counter(line.kind for line in lines)
    if not counts["added"] + counts["removed"]:
        return None
    return SectionChange(
        second.name, second.title, "changed", counts["added"], counts["removed"], renamed, _shortened(lines)
    )


def alignment(
    first: Sequence[str], second: Sequence[str], renumbered: Numbers
) -> tuple[list[Step], dict[str, str]]:
    """Align two texts; return their runs of lines, and the counterparts of the first text's numbers."""
    steps = list(_align(*(_substituted(lines, renumbered, "") for lines in (first, second))))
    return steps, _counterparts(first, second, steps, renumbered)


def applied(first: Sequence[str], change: SectionChange, renumbered: Numbers) -> list[str]:
    """Apply a section's change to the lines of the first text; return those of the second."""
    renamed = with_numbers(first, change.renamed, renumbered)
    lines, position = list[str](), 0
    for line in change.lines:
        if line.kind == "added":
            lines.append(line.text)
            continue
        if line.kind == "same":
            lines += renamed[position : position + line.stands_for]
        position += line.stands_for
    return lines


def differ(first: Section, second: Section, renumbered: Numbers) -> bool:
    """Return whether two sections differ in more than numbers; False is uncertain."""
    if len(first.lines) != len(second.lines):
        return True
    keys = (_substituted(section.lines, renumbered, "") for section in (first, second))
    return first.lines != second.lines and next(keys) != next(keys)


def _whole(section: Section, kind: Literal["removed", "added"]) -> SectionChange:
    lines = tuple(Line(kind, text) for text in section.lines)
    added, removed = (len(lines), 0) if kind == "added" else (0, len(lines))
    return SectionChange(section.name, section.title, kind, added, removed, {}, lines)


def _align(first: list[str], second: list[str]) -> Iterator[Step]:
    """Yield the runs of two texts without numbers."""
    start, most = 0, min(len(first), len(second))
    while start < most and first[start] == second[start]:
        start += 1
    end = 0
    while end < most - start and first[-1 - end] == second[-1 - end]:
        end += 1
    if start:
        yield "same", 0, start, 0, start
    middle = first[start : len(first) - end], second[start : len(second) - end]
    matcher = difflib.SequenceMatcher(None, *middle, autojunk=len(first) > EXACT)
    for tag, *places in matcher.get_opcodes():
        a, b, c, d = (start + place for place in places)
        yield "same" if tag == "equal" else "changed", a, b, c, d
    if end:
        yield "same", len(first) - end, len(first), len(second) - end, len(second)


def _counterparts(
    first: Sequence[str], second: Sequence[str], steps: Sequence[Step], renumbered: Numbers
) -> dict[str, str]:
    """Return the numbers' counterparts by votes of the aligned lines: one to one, without equal ones."""
    if not renumbered:
        return {}
    votes = Counter[tuple[str, str]]()
    for kind, start, end, low, high in steps:
        if kind == "same":
            texts = "\n".join(first[start:end]), "\n".join(second[low:high])
            votes.update(zip(*map(renumbered.findall, texts), strict=True))
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for (old, new), _ in votes.most_common():
        if old not in chosen and new not in taken:
            chosen[old] = new
            taken.add(new)
    return {old: new for old, new in chosen.items() if old != new}


def with_numbers(lines: Sequence[str], renamed: Mapping[str, str], renumbered: Numbers) -> list[str]:
    """Return lines with other numbers: those of `renamed`, by the numbers that they have."""
    return _substituted(lines, renumbered if renamed else None, lambda found: renamed.get(found[0], found[0]))


def _substituted(
    lines: Sequence[str], pattern: re.Pattern[str] | None, by: str | Callable[[re.Match[str]], str]
) -> list[str]:
    """Return lines with each match replaced; one call for all lines takes a third of a call for each."""
    return pattern.sub(by, "\n".join(lines)).split("\n") if pattern and lines else list(lines)


def _replaced(before: Sequence[str], renamed: Sequence[str], now: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of a replaced run; the first removed line is the first added line's counterpart."""
    pairs = min(len(before), len(now))
    for old, as_new, new in zip(before[:pairs], renamed[:pairs], now[:pairs], strict=True):
        yield from _pair(old, as_new, new)
    yield from (Line("removed", old) for old in before[pairs:])
    yield from (Line("added", new) for new in now[pairs:])


def _same(old: str, new: str) -> Line:
    return Line("same", new, before="" if old == new else old)


def _pair(old: str, renamed: str, new: str) -> list[Line]:
    """Return a removed line and an added line, with marks around the words that differ."""
    if renamed == new:
        return [_same(old, new)]
    words, renamed_words, new_words = (_WORDS.findall(text) for text in (old, renamed, new))
    start, most = 0, min(len(renamed_words), len(new_words))
    while start < most and renamed_words[start] == new_words[start]:
        start += 1
    end = 0
    while end < most - start and renamed_words[-1 - end] == new_words[-1 - end]:
        end += 1
    if 2 * (start + end) < most:  # hardly anything in common: no counterpart
        return [Line("removed", old), Line("added", new)]

    def columns(parts: list[str]) -> tuple[int, int]:
        return len("".join(parts[:start])), len("".join(parts[: len(parts) - end]))

    return [Line("removed", old, columns(words)), Line("added", new, columns(new_words))]


def _grouped(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with the removed ones of each change before the added ones."""
    grouped: list[Line] = []
    added: list[Line] = []
    for line in lines:
        if line.kind == "added":
            added.append(line)
            continue
        if line.kind == "same":
            grouped += added
            added = []
        grouped.append(line)
    return grouped + added


def _shortened(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines with long runs of unchanged ones as one line each."""
    near = bytearray(len(lines))
    for i, line in enumerate(lines):
        if line.kind != "same":
            low, high = max(0, i - CONTEXT), min(len(lines), i + CONTEXT + 1)
            near[low:high] = b"\1" * (high - low)
    short: list[Line] = []
    for shown, line in zip(near, lines, strict=True):
        if shown:
            short.append(line)
        elif short and short[-1].kind == "same" and not short[-1].text:
            short[-1] = short[-1]._replace(stands_for=short[-1].stands_for + 1)
        else:
            short.append(Line("same", ""))
    return tuple(short)
