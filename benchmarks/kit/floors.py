"""The least required ratios, on machines with AVX-512 and with narrower vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from kit.rows import Measured, mean


@dataclass(frozen=True)
class Floor:
    """A required ratio over some groups' cases: of the geometric mean, or of the slowest case."""

    text: str
    groups: tuple[str, ...]
    ours: str
    peers: tuple[str, ...]  # the fastest one counts
    wide: float  # the floor with vectors of 64 bytes
    narrow: float  # the floor with narrower vectors
    least: bool = False

    def value(self, rows: Sequence[Measured], called: Mapping[str, str] | None = None) -> float:
        """Return the ratio; NaN if the groups have no case with these peers.

        Args:
            rows: The rows of all groups.
            called: The names of our samples of another way to call a schedule, by the usual ones.
        """
        ours, *peers = ((called or {}).get(name, name) for name in (self.ours, *self.peers))
        ratios = [row.ratio(ours, *peers) for row in rows if row.group in self.groups]
        if not self.least:
            return mean(ratios)
        return min((ratio for ratio in ratios if math.isfinite(ratio)), default=math.nan)

    def floor(self, vector_bytes: int) -> float:
        """Return the least ratio that is required."""
        return self.wide if vector_bytes >= 64 else self.narrow


def floors_table(
    floors: Sequence[Floor], rows: Sequence[Measured], ways: Mapping[str, Mapping[str, str]]
) -> Table:
    """Return each required ratio with its value in a loop of machine code, and in other ways to call.

    Args:
        floors: The required ratios.
        rows: The measured cases.
        ways: For each other way, by its title, the names of our samples; see `Floor.value`.
    """
    table = Table(title="what must hold", title_justify="left")
    for name in ("what", "at least", "measured", *ways, ""):
        table.add_column(name, justify="left" if name in ("what", "") else "right")
    for floor in floors:
        value, *others = (floor.value(rows, called) for called in ({}, *ways.values()))
        if math.isfinite(value):
            least = floor.floor(rows[0].machine["vector_bytes"])
            numbers = (f"{number:.3g}" for number in (least, value, *others))
            table.add_row(floor.text, *numbers, verdict(value >= least))
    return table


def verdict(holds: bool) -> str:
    """Return the last cell of a floor's row."""
    return "holds" if holds else "does not hold"
