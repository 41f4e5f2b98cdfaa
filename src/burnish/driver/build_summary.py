"""The summary of the last builds under a directory, from the build log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.driver.build_log import Record
from burnish.driver.copies import saved_once_linked


@dataclass(frozen=True)
class BuildSummary:
    """The latest line of each translation unit, and their sums."""

    records: tuple[Record, ...]  # by output, then source
    gone: int  # how many were left out since their output is there no more
    loaded_bytes_before: int
    loaded_bytes: int
    text_bytes_before: int
    text_bytes: int
    saved_once_linked: int | None  # loaded bytes; see burnish.driver.copies
    unmeasured: int  # how many have no size: clang's temporary objects that nobody looked at
    reasons: tuple[
        tuple[str, int], ...
    ]  # why files are as clang made them, and how many; the most frequent first


def summarise(records: Iterable[Record], directory: Path, *, gone_too: bool = False) -> BuildSummary:
    """Keep the latest record of each output and source at or below a directory.

    Outputs that were deleted since (those of configure scripts, say) count with `gone_too` only.
    """
    latest: dict[tuple[Path, str], Record] = {}
    for one in records:
        if one.output_path.is_relative_to(directory):
            latest[one.output_path, one.source] = one
    there = {key: one for key, one in latest.items() if gone_too or key[0].exists()}
    rows = tuple(measured(there[key]) for key in sorted(there))
    sized = [one for one in rows if one.loaded_bytes is not None]
    reasons = Counter(f"{one.action}: {one.reason}" for one in rows if one.reason)
    return BuildSummary(
        records=rows,
        gone=len(latest) - len(there),
        loaded_bytes_before=sum(one.loaded_bytes_before or 0 for one in sized),
        loaded_bytes=sum(one.loaded_bytes or 0 for one in sized),
        text_bytes_before=sum(one.text_bytes_before or 0 for one in sized),
        text_bytes=sum(one.text_bytes or 0 for one in sized),
        saved_once_linked=saved_once_linked(rows),
        unmeasured=len(rows) - len(sized),
        reasons=tuple(reasons.most_common()),
    )


def measured(record: Record) -> Record:
    """Return a record with what its object loads, where the launcher wrote it, which counts code alone.

    The launcher leaves objects that cannot be at any address without a size, so all of these can.
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
    """Return by how many per cent a size changed; below 0 where it is smaller."""
    if before is None or after is None or not before:
        return None
    return 100 * (after - before) / before
