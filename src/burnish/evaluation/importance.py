"""Importance of passes: their share of the winning traces, and the cost increase without them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from burnish.core.action import Action
from burnish.core.errors import BurnishError
from burnish.core.trace import Trace, split_entry
from burnish.evaluation.explain import contributions
from burnish.evaluation.rows import Row
from burnish.evaluation.states import States
from burnish.search.problem import Problem

MOST_ENTRIES = 40  # of an analysed trace, because each entry takes a replay


@dataclass(frozen=True)
class Importance:
    """The importance of one pass, over all its parameters."""

    name: str
    share: float  # of the winning traces that have the pass
    effect: float | None = None
    """The mean of log(cost without / cost with), over the analysed traces with the pass."""
    traces: int = 0  # number of analysed traces with the pass


@dataclass(frozen=True)
class FeatureImportance:
    """The effect on a policy's answers of permuting one feature across decisions."""

    name: str
    changed: float  # the share of changed answers
    cost: float  # cost increase of all answers, each credited independently, in units of the objective
    deviation: float = 0.0  # standard deviation of the cost over permutations


def pass_name(entry: str) -> str:
    """Return the name of an entry's pass, without site and parameters."""
    return Action.parse(split_entry(entry)[1]).kind


def winning(rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose traces are strictly better than the reference."""
    return [row for row in rows if row.is_better and row.trace]


def importances(rows: Sequence[Row], effects: Sequence[Mapping[str, float]] = ()) -> list[Importance]:
    """Return the passes of the winning traces, the most frequent first.

    Args:
        rows: Rows of any methods.
        effects: For each analysed trace, the values of `trace_effects`.
    """
    won = winning(rows)
    counts = Counter(name for row in won for name in {pass_name(entry) for entry in row.trace})
    by_name: dict[str, list[float]] = defaultdict(list)
    for traced in effects:
        for name, value in traced.items():
            by_name[name].append(value)
    return [
        Importance(
            name,
            count / len(won),
            math.fsum(by_name[name]) / len(by_name[name]) if by_name[name] else None,
            len(by_name[name]),
        )
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def trace_effects(problem: Problem, trace: Trace) -> dict[str, float]:
    """Return, by pass, log(cost without / cost with), summed over the pass's entries, each left out alone.

    An entry is skipped if the rest of the trace fails without it.

    Raises:
        CompilerCrash, IllegalAction, UnknownName: the trace cannot be applied.
    """
    objective = problem.goal.name
    with States(problem.task, problem.program, limits=problem.limits) as states:
        states.digests(trace)
        cost = states.cost(trace, objective)
        effects: dict[str, float] = defaultdict(float)
        for entry, more in zip(trace, contributions(states, trace, objective), strict=True):
            if math.isfinite(more):
                effects[pass_name(entry)] += math.log((cost + more) / cost)
    return dict(effects)


def effects_of_sample(
    rows: Sequence[Row],
    problem_of: Callable[[Row], Problem],
    count: int,
    seed: int,
    *,
    note: Callable[[Row], None] = lambda _: None,
) -> list[dict[str, float]]:
    """Return `trace_effects` of a random sample of winning traces, without long traces.

    Args:
        rows: The rows to draw from.
        problem_of: Returns the problem of a row.
        count: The size of the sample.
        seed: The seed of the sample.
        note: Called with each row before its analysis.
    """
    short = [row for row in winning(rows) if len(row.trace) <= MOST_ENTRIES]
    order = np.random.default_rng(seed).permutation(len(short))[:count]
    found = []
    for row in (short[i] for i in order):
        note(row)
        try:
            found.append(trace_effects(problem_of(row), row.trace))
        except BurnishError:  # the trace was replayed before, so a crash now says nothing about its passes
            continue
    return found
