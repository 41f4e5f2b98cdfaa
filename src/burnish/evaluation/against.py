"""Comparison of a policy with a compiler's heuristic, module by module, without a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from burnish.core.errors import InputError
from burnish.evaluation.intervals import bootstrap_interval

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Against:
    """The result of a policy's answers in one module, without search."""

    program: str
    heuristic: float  # cost under the compiler's own answers
    policy: float  # cost under the policy's answers
    questions: int  # number of questions that the policy answered
    others: int  # number of answers that differ from the heuristic's

    @property
    def ratio(self) -> float:
        """The heuristic's cost over the policy's; above 1, the policy is better."""
        return self.heuristic / self.policy


@dataclass(frozen=True)
class AgainstAll:
    """Summary over modules: the geometric mean of the ratios, with its bootstrap interval."""

    modules: int
    ratio: float
    low: float
    high: float
    total: float  # ratio of the summed costs
    better: int  # modules in which the policy is better
    worse: int


def summary_of(rows: Sequence[Against], *, seed: int = 0) -> AgainstAll:
    """Return the summary over modules.

    Raises:
        InputError: `rows` is empty.
    """
    if not rows:
        raise InputError("no module in which the compiler asks; nothing to compare")
    logs = [math.log(row.ratio) for row in rows]
    low, high = bootstrap_interval(logs, [(value, value) for value in logs], CONFIDENCE, seed=seed)
    return AgainstAll(
        len(rows),
        math.exp(math.fsum(logs) / len(logs)),
        math.exp(low),
        math.exp(high),
        sum(row.heuristic for row in rows) / sum(row.policy for row in rows),
        sum(row.ratio > 1 for row in rows),
        sum(row.ratio < 1 for row in rows),
    )
