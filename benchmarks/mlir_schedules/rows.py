"""A case's measurements, kept as a line of JSON, and their ratios."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loop_nests.rows import mean

from burnish.core.errors import InputError
from mlir_schedules.cases import op_of

NAIVE, OURS = "naive", "burnish"
CALLED = "called"  # our schedule, called from Python like the peers, not from a loop of machine code
LINKED = "linked"  # our schedule, called as the C function of a shared object


@dataclass(frozen=True)
class Row:
    """A case, measured in interleaved rounds."""

    case: str
    group: str
    split: str
    digest: str  # of the program
    flops: int
    machine: Mapping[str, Any]  # cpu, vector_bytes, versions
    trace: Sequence[str]
    origin: str  # of the trace
    samples: Mapping[str, Sequence[float]]  # CPU seconds of a call; a peer's keys are forms: torch/matmul
    failed: Mapping[str, str]  # the reasons by peer or form that gave a wrong result or none

    @property
    def op(self) -> str:
        """The family of the program."""
        return op_of(self.case)

    def seconds(self, who: str) -> float:
        """Return the median seconds of a call (of a peer's best form); infinity without samples."""
        of = [samples for name, samples in self.samples.items() if name == who or name.startswith(f"{who}/")]
        return min(map(statistics.median, of), default=math.inf)

    def form(self, peer: str) -> str:
        """Return the name of a peer's best form, or "" if it has no form."""
        names = [name for name in self.samples if name.startswith(f"{peer}/")]
        best = min(names, key=lambda name: statistics.median(self.samples[name]), default="")
        return best.partition("/")[2]

    def ratio(self, *peers: str, ours: str = OURS) -> float:
        """Return the time of the fastest of some peers, divided by ours."""
        return min(map(self.seconds, peers)) / self.seconds(ours)


def read(path: Path) -> list[Row]:
    """Return the rows of a file.

    Raises:
        InputError: a line is not a row.
    """
    try:
        return [Row(**json.loads(line)) for line in path.read_text().splitlines()]
    except (TypeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not rows of schedules.py: {error}") from None


def mean_ratio(rows: Iterable[Row], *peers: str, ours: str = OURS) -> float:
    """Return the geometric mean of the ratios of the rows that have them; NaN without any."""
    found = [row.ratio(*peers, ours=ours) for row in rows]
    return mean(ratio for ratio in found if math.isfinite(ratio) and ratio > 0)
