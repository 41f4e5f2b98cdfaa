"""Inline functions and templates that several objects define: a linker keeps one copy of each.

Bytes that are saved in the other copies change no program. If one object stops defining such a function, the
program still loads it from another object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from burnish.cc.build_log import Record

_FUNCTION = 2  # STT_FUNC


def group_bytes(elf: bytes) -> dict[str, int]:
    """Return the loaded bytes of the functions of each COMDAT group, with their unwind tables.

    Raises:
        ValueError: the content is not an object.
    """
    from burnish import _native

    loaded = dict(_native.object_sizes(elf, True).functions_loaded)
    places: dict[tuple[str, int, int], int] = {}
    for symbol in _native.elf_symbols(elf):
        if symbol.group is not None and symbol.type == _FUNCTION:
            place = (symbol.group, symbol.section, symbol.value)  # only one of its names counts the table
            places[place] = max(places.get(place, 0), loaded.get(symbol.name, 0))
    found: dict[str, int] = defaultdict(int)
    for (group, _, _), size in places.items():
        found[group] += size
    return dict(found)


@dataclass(frozen=True)
class GroupChange:
    """The COMDAT groups of an object, compared with those of clang's own object."""

    saved: Mapping[str, int]  # bytes saved in each group whose size changed; negative if it grew
    elsewhere: int  # bytes of its missing groups: a program loads them if another object has them


def change_of_groups(old: Mapping[str, int], new: Mapping[str, int]) -> GroupChange:
    """Compare the groups of clang's object with those of another one of the same source: see group_bytes."""
    saved = {group: old.get(group, 0) - new.get(group, 0) for group in sorted(old.keys() | new.keys())}
    return GroupChange(
        {group: size for group, size in saved.items() if size},
        sum(size for group, size in old.items() if group not in new),
    )


def saved_once_linked(records: Iterable[Record]) -> int | None:
    """Return the loaded bytes that a program of these objects saves, compared with one of clang's objects.

    Each group counts once, as the mean of its copies, because the linker may keep any of them.

    Returns:
        The bytes; None if no two of the objects share a group.
    """
    own = 0
    before: dict[str, list[int]] = defaultdict(list)
    after: dict[str, list[int]] = defaultdict(list)
    for record in records:
        saved = record.saved_in_groups
        if record.loaded_bytes is not None and record.loaded_bytes_before is not None:
            own += record.loaded_bytes_before - record.loaded_bytes - sum(saved.values())
        now = _groups_of(record)
        for group, size in now.items():
            after[group].append(size)
        for group in now.keys() | saved.keys():
            if size := now.get(group, 0) + saved.get(group, 0):
                before[group].append(size)
    if all(len(copies) < 2 for copies in before.values()):
        return None
    sums = [sum(sum(copies) / len(copies) for copies in groups.values()) for groups in (before, after)]
    return own + round(sums[0] - sums[1])


def _groups_of(record: Record) -> Mapping[str, int]:
    try:
        return group_bytes(record.output_path.read_bytes())
    except (OSError, ValueError, IndexError):  # a program, or deleted
        return {}
