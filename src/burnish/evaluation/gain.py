"""The gain of one state over another in exact and noisy objectives."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

from burnish.core.errors import InputError
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.evaluation.intervals import fewest
from burnish.evaluation.timing import (
    FASTER,
    IDENTICAL,
    SLOWER,
    Comparer,
    Comparison,
    Effort,
    compare_rounds,
    verdict_of,
)


@dataclass(frozen=True)
class Gain:
    """A comparison in one objective, and the costs of both states."""

    comparison: Comparison
    baseline: float
    candidate: float


def measure_gain(
    task: Task,
    program: Program,
    goal: Objective,
    baseline: Session,
    candidate: Session,
    *,
    comparer: Comparer,
) -> Gain:
    """Compare two states of a program in an objective, which may be a weighted objective with noisy parts.

    Run times are compared by alternating runs of the states' objects. Other noisy costs, such as compile
    times, are measured in turn. Exact costs have no interval. For a weighted objective, the weighted
    logarithms of ratios and of interval ends are added; with several noisy parts, that interval is wider than
    necessary.

    Raises:
        InputError: the objective needs runs, and the program has no workload.
        Miscompiled: a run fails.
        MissingTool: the machine has no such counter.
    """
    exponents = goal.formula.exponents
    parts = [_part(task.objective(name), program, baseline, candidate, comparer) for name in exponents]
    if len(parts) == 1:
        return parts[0]
    ratio = low = high = noise = baseline_log = candidate_log = 0.0
    verdicts, repeats = set(), []
    for part, exponent in zip(parts, exponents.values(), strict=True):
        seen = part.comparison
        ratio += exponent * log(seen.ratio)
        low += exponent * log(seen.low)
        high += exponent * log(seen.high)
        noise += exponent * log(seen.noise)
        baseline_log += exponent * log(part.baseline)
        candidate_log += exponent * log(part.candidate)
        verdicts.add(seen.verdict)
        repeats += [seen.repeats] if seen.repeats else []
    comparison = Comparison(
        exp(ratio),
        exp(low),
        exp(high),
        IDENTICAL if verdicts == {IDENTICAL} else verdict_of(low, high, noise),
        comparer.effort.confidence,
        min(repeats, default=0),
        exp(noise),
    )
    return Gain(comparison, exp(baseline_log), exp(candidate_log))


def _part(
    objective: Objective, program: Program, baseline: Session, candidate: Session, comparer: Comparer
) -> Gain:
    if objective.exact:
        costs = baseline.measure(objective.name), candidate.measure(objective.name)
        ratio = costs[0] / costs[1]
        verdict = IDENTICAL if ratio == 1 else FASTER if ratio > 1 else SLOWER
        return Gain(Comparison(ratio, ratio, ratio, verdict, 1.0, 0), *costs)
    if not objective.needs_workload:
        return _in_turn(objective, baseline, candidate, comparer.effort)
    if program.workload is None:
        raise InputError(f"{program.name}: {objective.name} needs a program that can be run")
    comparison = comparer.compare(
        baseline.object_code(), candidate.object_code(), program.workload, objective.name
    )
    if comparison.verdict == IDENTICAL:
        cost = baseline.measure(objective.name)
        return Gain(comparison, cost, cost)
    return Gain(comparison, *comparison.least)


def _in_turn(objective: Objective, baseline: Session, candidate: Session, effort: Effort) -> Gain:
    """Measure two sessions in turn, in the fewest rounds for the confidence; the baseline is first and last.

    Each measurement is already the least of several. Differences of the baseline's own costs between
    consecutive rounds show the noise.
    """
    before, after = [[baseline.measure(objective.name)]], []
    for _ in range(fewest(effort.confidence)):
        after.append([candidate.measure(objective.name)])
        before.append([baseline.measure(objective.name)])
    comparison = compare_rounds(before[:-1], before[1:], after, effort.confidence)
    return Gain(comparison, *comparison.least)
