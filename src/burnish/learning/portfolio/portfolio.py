"""Sequences, and what they gain on some programs."""

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
    """Sequences, and what they gain on some programs.

    Attributes:
        programs: Their names.
        references: float64[P], what the task's reference costs.
        traces: N of them; the reference is the first.
        costs: float64[N, P], infinite where one fails.
        seconds: float64[N, P], of applying it.
        dropped: Others, which were tried on some of the programs.
        generations: How many made them.
    """

    programs: list[str]
    references: NDArray[np.float64]
    traces: list[Trace]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    dropped: set[Trace] = field(default_factory=set)
    generations: int = 0

    def chosen(self, size: int) -> tuple[list[Trace], list[float]]:
        """Choose greedily, by gain for time: sequences, and what each adds to the mean log ratio."""
        order, added = self.numbers(size)
        return [self.traces[i] for i in order], added

    def numbers(self, size: int) -> tuple[list[int], list[float]]:
        """Choose likewise, and return the rows of the sequences."""
        return by_gain_for_time(self.log_ratios, self.relative_seconds, size)

    @property
    def log_ratios(self) -> NDArray[np.float64]:
        """log(reference / cost), float64[N, P]."""
        return log_ratios(self.references, self.costs)

    @property
    def relative_seconds(self) -> NDArray[np.float64]:
        """What trying a sequence takes, in units of what the reference takes, float64[N, P]."""
        return relative_seconds(self.traces, self.seconds, self.seconds[0])

    def add(self, generation: Generation) -> None:
        """Take in another generation."""
        self.traces += generation.traces
        self.costs = np.vstack([self.costs, generation.costs])
        self.seconds = np.vstack([self.seconds, generation.seconds])
        self.dropped.update(generation.dropped)
        self.generations += 1


@dataclass(frozen=True)
class Generation:
    """Sequences that were tried on all programs, float64[n, P], and those that were not."""

    traces: list[Trace]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    dropped: list[Trace] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        """Return it as JSON has it: None where a sequence fails."""
        finite = np.where(np.isfinite(self.costs), self.costs, None)  # type: ignore[call-overload]
        return {
            "traces": self.traces,
            "costs": finite.tolist(),
            "seconds": self.seconds.round(5).tolist(),
            "dropped": self.dropped,
        }

    @classmethod
    def read(cls, line: dict[str, Any], programs: int) -> Generation:
        """Read what `line` returned, of so many programs."""
        shape = (len(line["traces"]), programs)
        costs = np.array(line["costs"], dtype=np.float64).reshape(shape)  # None becomes nan
        return cls(
            [tuple(trace) for trace in line["traces"]],
            np.where(np.isnan(costs), np.inf, costs),
            np.array(line["seconds"], dtype=np.float64).reshape(shape),
            [tuple(trace) for trace in line["dropped"]],
        )
