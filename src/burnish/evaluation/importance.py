"""Which passes matter: how many winning traces have them, and what the traces are worth without."""

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

MOST_ENTRIES = 40  # of a trace that is taken apart: each entry is a replay


@dataclass(frozen=True)
class Importance:
    """What is known of one pass, whatever its parameters."""

    name: str
    share: float  # of the winning traces that have it
    worth: float | None = None
    """The mean of log(cost without / cost with), over the traces that were taken apart and have it."""
    traces: int = 0  # that were taken apart and have it


@dataclass(frozen=True)
class FeatureImportance:
    """What becomes of a policy's answers where a feature has the values of other decisions."""

    name: str
    changed: float  # the share of the answers that are other ones
    cost: float  # by how much more all answers cost, each credited alone, in units of the objective
    deviation: float = 0.0  # of the cost, over permutations


def pass_name(entry: str) -> str:
    """Return a pass' name, without its site and its parameters."""
    return Action.parse(split_entry(entry)[1]).kind


def winning(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that are strictly better than the reference by a trace."""
    return [row for row in rows if row.is_better and row.trace]


def importances(rows: Sequence[Row], worths: Sequence[Mapping[str, float]] = ()) -> list[Importance]:
    """Return the passes of the winning traces, the most frequent first.

    Args:
        rows: Of any methods.
        worths: For each trace that was taken apart, what its passes are worth.
    """
    won = winning(rows)
    counts = Counter(name for row in won for name in {pass_name(entry) for entry in row.trace})
    by_name: dict[str, list[float]] = defaultdict(list)
    for worth in worths:
        for name, value in worth.items():
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


def trace_worth(problem: Problem, trace: Trace) -> dict[str, float]:
    """Return by pass log(cost without / cost with), summed over its entries, each left out alone.

    A pass that the rest cannot be applied without is left out of the answer.

    Raises:
        CompilerCrash, IllegalAction, UnknownName: the trace cannot be applied.
    """
    objective = problem.goal.name
    with States(problem.task, problem.program, limits=problem.limits) as states:
        states.digests(trace)
        cost = states.cost(trace, objective)
        worth: dict[str, float] = defaultdict(float)
        for entry, more in zip(trace, contributions(states, trace, objective), strict=True):
            if math.isfinite(more):
                worth[pass_name(entry)] += math.log((cost + more) / cost)
    return dict(worth)


def worth_of_sample(
    rows: Sequence[Row],
    problem_of: Callable[[Row], Problem],
    count: int,
    seed: int,
    *,
    note: Callable[[Row], None] = lambda _: None,
) -> list[dict[str, float]]:
    """Take some winning traces apart, drawn by the seed; long ones are left out.

    Args:
        rows: To draw from.
        problem_of: Returns what a row's trace is of.
        count: How many.
        seed: Of the choice.
        note: Told which row is next.
    """
    short = [row for row in winning(rows) if len(row.trace) <= MOST_ENTRIES]
    order = np.random.default_rng(seed).permutation(len(short))[:count]
    found = []
    for row in (short[i] for i in order):
        note(row)
        try:
            found.append(trace_worth(problem_of(row), row.trace))
        except BurnishError:  # it did stand up to a replay; a crash now is no news of a pass
            continue
    return found
