"""A case of linalg programs, measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kit.rows import Measured, mean

from mlir_schedules.cases import op_of

NAIVE, OURS = "naive", "burnish"
CALLED = "called"  # our schedule, called from Python like the peers, not from a loop of machine code
LINKED = "linked"  # our schedule, called as the C function of a shared object


@dataclass(frozen=True, kw_only=True)
class Row(Measured):
    """A case, measured in interleaved rounds."""

    digest: str  # of the program
    trace: Sequence[str]
    origin: str  # of the trace
    failed: Mapping[str, str]  # the reasons by peer or form that gave a wrong result or none

    @property
    def op(self) -> str:
        """The family of the program."""
        return op_of(self.case)


def mean_ratio(rows: Iterable[Row], *peers: str) -> float:
    """Return the geometric mean of the ratios of the rows that have them; NaN without any."""
    return mean(row.ratio(OURS, *peers) for row in rows)
