"""A case's measurements, kept as a line of JSON, and their ratios."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from burnish.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A case, measured in interleaved rounds."""

    case: str
    group: str
    split: str
    flops: int
    machine: Mapping[str, Any]  # cpu, vector_bytes, versions
    samples: Mapping[str, Sequence[float]]  # CPU seconds of a call; a peer's keys are forms: numpy/matmul

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

    def to_json(self) -> str:
        """Write the row on one line."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def read(cls, path: Path) -> list[Self]:
        """Return the rows of a file.

        Raises:
            InputError: a line is not a row.
        """
        try:
            return [cls(**json.loads(line)) for line in path.read_text().splitlines()]
        except (TypeError, json.JSONDecodeError) as error:
            raise InputError(f"{path}: not rows of this benchmark: {error}") from None


def mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean of the ratios that are finite and positive; NaN without any."""
    known = [ratio for ratio in ratios if math.isfinite(ratio) and ratio > 0]
    return math.exp(statistics.fmean(map(math.log, known))) if known else math.nan
