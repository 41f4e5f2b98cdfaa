"""A case's measurements, kept as a line of JSON, and their ratios."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError

POLICY, REFINED = "policy", "refined"
CALLED = " call"  # suffix of our names: called from Python like the peers, not from a loop of machine code
PEAK = "peak"


@dataclass(frozen=True)
class Row:
    """A case, measured in interleaved rounds."""

    case: str
    group: str
    split: str
    nest: str  # its text
    flops: int
    peak_flops: int  # of a call of the probe
    machine: Mapping[str, Any]  # cpu, vector_bytes, versions
    schedules: Mapping[str, Mapping[str, Any]]  # of policy and refined: tree, seconds of finding it
    samples: Mapping[str, Sequence[float]]  # seconds of a call; a peer's keys are forms: numpy/matmul

    def seconds(self, who: str) -> float:
        """Return the median seconds of a call (of a peer's best form); infinity without samples."""
        of = [samples for name, samples in self.samples.items() if name == who or name.startswith(f"{who}/")]
        return min(map(statistics.median, of), default=math.inf)

    def form(self, peer: str) -> str:
        """Return the name of a peer's best form, or "" if it has no form."""
        names = [name for name in self.samples if name.startswith(f"{peer}/")]
        best = min(names, key=lambda name: statistics.median(self.samples[name]), default="")
        return best.partition("/")[2]

    def ratio(self, ours: str, *peers: str) -> float:
        """Return the time of the fastest of some peers, divided by ours."""
        return min(map(self.seconds, peers)) / self.seconds(ours)

    @property
    def of_peak(self) -> float:
        """The share of the machine's peak that the refined schedule reaches."""
        return (self.flops / self.seconds(REFINED)) / (self.peak_flops / self.seconds(PEAK))

    def to_json(self) -> str:
        """Write the row on one line."""
        return json.dumps(asdict(self), ensure_ascii=False)


def read(path: Path) -> list[Row]:
    """Return the rows of a file.

    Raises:
        InputError: a line is not a row.
    """
    try:
        return [Row(**json.loads(line)) for line in path.read_text().splitlines()]
    except (TypeError, json.JSONDecodeError) as error:
        raise InputError(f"{path}: not rows of nests.py: {error}") from None


def mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean; NaN without ratios."""
    known = list(ratios)
    return math.exp(statistics.fmean(map(math.log, known))) if known else math.nan
