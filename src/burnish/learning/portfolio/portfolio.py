"""Portfolio of sequences, with their costs and times on some programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.trace import Trace
from burnish.learning.portfolio.costs import log_ratios
from burnish.learning.portfolio.cover import by_gain_for_time
from burnish.learning.portfolio.seconds import relative_seconds


@dataclass
class Portfolio:
    """N sequences, with their costs and times on P programs.

    Attributes:
        programs: Names of the programs.
        references: float64[P], costs under the task's reference.
        traces: The N sequences; the first is the reference.
        costs: float64[N, P], infinite if a sequence fails.
        seconds: float64[N, P], time of applying a sequence.
        dropped: Other sequences, which were tried on only some of the programs.
        generations: Number of generations so far.
    """

    programs: list[str]
    references: NDArray[np.float64]
    traces: list[Trace]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    dropped: set[Trace] = field(default_factory=set)
    generations: int = 0

    def chosen(self, size: int) -> tuple[list[Trace], list[float]]:
        """Choose at most `size` sequences by gain per time: (sequences, what each adds to mean log ratio)."""
        order, added = self.numbers(size)
        return [self.traces[i] for i in order], added

    def numbers(self, size: int) -> tuple[list[int], list[float]]:
        """Choose as `chosen` does, but return the rows of the sequences."""
        return by_gain_for_time(self.log_ratios, self.relative_seconds, size)

    @property
    def log_ratios(self) -> NDArray[np.float64]:
        """log(reference / cost), float64[N, P]."""
        return log_ratios(self.references, self.costs)

    @property
    def relative_seconds(self) -> NDArray[np.float64]:
        """Times of trying a sequence, in units of the reference's time, float64[N, P]."""
        return relative_seconds(self.traces, self.seconds, self.seconds[0])

    def add(self, generation: Generation) -> None:
        """Add a generation."""
        self.traces += generation.traces
        self.costs = np.vstack([self.costs, generation.costs])
        self.seconds = np.vstack([self.seconds, generation.seconds])
        self.dropped.update(generation.dropped)
        self.generations += 1


@dataclass(frozen=True)
class Generation:
    """n sequences tried on all P programs, float64[n, P], and those dropped after some programs."""

    traces: list[Trace]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    dropped: list[Trace] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        """Return the generation as JSON values; the cost of a failed sequence is None."""
        finite = np.where(np.isfinite(self.costs), self.costs, None)  # type: ignore[call-overload]
        return {
            "traces": self.traces,
            "costs": finite.tolist(),
            "seconds": self.seconds.round(5).tolist(),
            "dropped": self.dropped,
        }

    @classmethod
    def read(cls, line: dict[str, Any], programs: int) -> Generation:
        """Read a generation that `line` returned; `programs` is the number of programs."""
        shape = (len(line["traces"]), programs)
        costs = np.array(line["costs"], dtype=np.float64).reshape(shape)  # None becomes NaN
        return cls(
            [tuple(trace) for trace in line["traces"]],
            np.where(np.isnan(costs), np.inf, costs),
            np.array(line["seconds"], dtype=np.float64).reshape(shape),
            [tuple(trace) for trace in line["dropped"]],
        )
