"""The summary of the last builds under a directory, from the build log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.cc.build_log import Record
from burnish.cc.copies import saved_once_linked

# Files that cmake, meson and configure scripts compile to examine the system; some of them stay.
_PROBE = re.compile(
    r"/CMakeFiles/(?:CMakeScratch|CMakeTmp|[^/]+/CompilerId[^/]*)/|/TryCompile-[^/]*/|/meson-private/|/conftest(?:\.[^/]*)?$"
)


@dataclass(frozen=True)
class BuildSummary:
    """The latest line of each translation unit, and their sums."""

    records: tuple[Record, ...]  # by output, then source
    gone: int  # records that were left out because their output no longer exists
    loaded_bytes_before: int
    loaded_bytes: int
    text_bytes_before: int
    text_bytes: int
    saved_once_linked: int | None  # loaded bytes; see burnish.cc.copies
    unmeasured: int  # records without a size: clang's temporary objects that were not measured
    crashes: int  # of the compiler during the searches: they do not harm a build
    recalled: int  # objects that an earlier build found
    memory_errors: tuple[tuple[str, int], ...]  # why nothing was remembered, with numbers of objects
    reasons: tuple[
        tuple[str, int], ...
    ]  # why files stay as clang made them, by kind, with counts; the most frequent first


def summarise(records: Iterable[Record], directory: Path, *, gone_too: bool = False) -> BuildSummary:
    """Sum up the latest record of each output and source at or below a directory.

    Deleted outputs count only with `gone_too`; files that were compiled to examine the system never count.
    """
    latest: dict[tuple[Path, str], Record] = {}
    for one in records:
        if one.output_path.is_relative_to(directory) and not is_probe(one):
            latest[one.output_path, one.source] = one
    there = {key: one for key, one in latest.items() if gone_too or key[0].exists()}
    return summary_of([measured(there[key]) for key in sorted(there)], gone=len(latest) - len(there))


def summary_of(records: Iterable[Record], *, gone: int = 0) -> BuildSummary:
    """Sum up records; `gone` is the number of records that were left out."""
    rows = tuple(records)
    sized = [one for one in rows if one.loaded_bytes is not None]
    return BuildSummary(
        records=rows,
        gone=gone,
        loaded_bytes_before=sum(one.loaded_bytes_before or 0 for one in sized),
        loaded_bytes=sum(one.loaded_bytes or 0 for one in sized),
        text_bytes_before=sum(one.text_bytes_before or 0 for one in sized),
        text_bytes=sum(one.text_bytes or 0 for one in sized),
        saved_once_linked=saved_once_linked(rows),
        unmeasured=len(rows) - len(sized),
        crashes=sum(one.crashes for one in rows),
        recalled=sum(one.recalled for one in rows),
        memory_errors=tuple(Counter(one.memory_error for one in rows if one.memory_error).most_common()),
        reasons=_reasons(rows),
    )


def is_probe(record: Record) -> bool:
    """Return whether cmake, meson or a configure script compiled a file to examine the system."""
    source = Path(record.directory, record.source)
    return any(_PROBE.search(path.as_posix()) for path in (record.output_path, source))


def reason_kind(reason: str) -> str:
    """Return a reason without the names and numbers in it, so that equal ones can be counted."""
    text = re.sub(r"'[^']*'", "'...'", reason.partition("\n")[0])
    text = re.sub(r" \(after .*", "", text)
    return re.sub(r"(?<![\w.-])\d[\d,.]*", "...", text)


def reason_of(record: Record) -> str:
    """Return the action and the reason of a record; "" if its object is smaller than clang's."""
    return f"{record.action}: {record.reason}" if record.reason else ""


def _reasons(records: Iterable[Record]) -> tuple[tuple[str, int], ...]:
    """Return reasons and their numbers of files; a kind with a single text is given in full."""
    kinds: dict[str, list[str]] = {}
    for one in records:
        if reason := reason_of(one):
            kinds.setdefault(reason_kind(reason), []).append(reason)
    found = [(texts[0] if len(set(texts)) == 1 else kind, len(texts)) for kind, texts in kinds.items()]
    return tuple(sorted(found, key=lambda item: -item[1]))


def measured(record: Record) -> Record:
    """Return a record with its object's loaded bytes, if the launcher wrote it, which counts code only.

    The launcher gives no size to objects that are not position independent, so those with a size are.
    """
    if record.loaded_bytes is not None or record.text_bytes is None:
        return record
    from burnish import _native

    try:
        sizes = _native.object_sizes(record.output_path.read_bytes(), True)
    except (OSError, ValueError):
        return record
    if sizes.text_bytes != record.text_bytes:  # another object by now
        return record
    return replace(record, loaded_bytes_before=sizes.loaded_bytes, loaded_bytes=sizes.loaded_bytes)


def change_percent(before: int | None, after: int | None) -> float | None:
    """Return the change of a size in per cent, negative if it shrinks; None if a size is unknown."""
    if before is None or after is None or not before:
        return None
    return 100 * (after - before) / before
