"""What the last builds under a directory came to, from the build log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from burnish.driver.build_log import Record


@dataclass(frozen=True)
class Summary:
    """The latest line of each translation unit, and their sums."""

    records: tuple[Record, ...]  # by output, then source
    gone: int  # how many were left out since their output is there no more
    loaded_bytes_before: int
    loaded_bytes: int
    text_bytes_before: int
    text_bytes: int
    unmeasured: int  # how many have no size: clang's temporary objects that nobody looked at
    reasons: tuple[
        tuple[str, int], ...
    ]  # why files are as clang made them, and how many; the most frequent first


def summarise(records: Iterable[Record], directory: Path, *, gone_too: bool = False) -> Summary:
    """Keep the latest record of each output and source at or below a directory.

    Outputs that were deleted since (those of configure scripts, say) count with `gone_too` only.
    """
    latest: dict[tuple[Path, str], Record] = {}
    for one in records:
        if one.output_path.is_relative_to(directory):
            latest[one.output_path, one.source] = one
    there = {key: one for key, one in latest.items() if gone_too or key[0].exists()}
    rows = tuple(there[key] for key in sorted(there))
    measured = [one for one in rows if one.loaded_bytes is not None]
    reasons = Counter(f"{one.action}: {one.reason}" for one in rows if one.reason)
    return Summary(
        records=rows,
        gone=len(latest) - len(there),
        loaded_bytes_before=sum(one.loaded_bytes_before or 0 for one in measured),
        loaded_bytes=sum(one.loaded_bytes or 0 for one in measured),
        text_bytes_before=sum(one.text_bytes_before or 0 for one in measured),
        text_bytes=sum(one.text_bytes or 0 for one in measured),
        unmeasured=len(rows) - len(measured),
        reasons=tuple(reasons.most_common()),
    )


def change_percent(before: int | None, after: int | None) -> float | None:
    """Return by how many per cent a size changed; below 0 where it is smaller."""
    if before is None or after is None or not before:
        return None
    return 100 * (after - before) / before
