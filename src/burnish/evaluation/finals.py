"""The choice among a search's best traces by runs in turn: one measurement of a run time is too noisy.

A search measures each trace once, and its best is partly the luckiest. So the best traces run again, in
rounds with the reference. The slower half drops out, then half of the rest, until one is left (successive
halving: Jamieson and Talwalkar 2016).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from burnish.core.errors import CompileError, CompilerCrash, Miscompiled
from burnish.core.program import Workload
from burnish.core.trace import Trace
from burnish.evaluation.intervals import centre
from burnish.evaluation.timing import Clock, linker, run_clock, time_round
from burnish.search import Budget, Progress
from burnish.search.problem import Problem
from burnish.workers.worker import Worker

SHARE = 0.4  # of a budget in seconds, for the finals
FINALISTS = 12  # most objects
BUILDS = 0.5  # of the finals' time, at most, for making the objects
LEAST_ROUNDS = 2  # before half of the finalists drop out; with less time, there are fewer finalists


class Heard:
    """The traces of a search and their costs, as its callback for progress hears them."""

    def __init__(self, progress: Callable[[Progress], None] | None) -> None:
        """Take the callback that hears the same."""
        self.costs: dict[Trace, float] = {}
        self._progress = progress

    def __call__(self, progress: Progress) -> None:
        """Keep an evaluation, unless it failed."""
        if math.isfinite(progress.latest.cost):
            self.costs[progress.latest.path] = progress.latest.cost
        if self._progress:
            self._progress(progress)

    def best(self) -> list[Trace]:
        """Return the traces, the cheapest first."""
        return sorted(self.costs, key=self.costs.__getitem__)


def has_finals(problem: Problem, budget: Budget) -> bool:
    """Return whether the result of a search is chosen in finals: those of run times, in a limit of time."""
    goal, workload = problem.goal, problem.program.workload
    timed = goal.noisy and goal.needs_workload and len(goal.formula.names) == 1
    return bool(timed and workload and not workload.emulator and budget.seconds and not problem.task.stages)


def finals(
    problem: Problem, choices: Sequence[Trace], others: Sequence[Trace], reference: str, seconds: float
) -> Trace | None:
    """Return the trace whose object runs fastest, or None if none runs faster than the reference's.

    Without time to run any object, return a policy's choice: it has learned from more runs than the one of
    each other trace.

    Args:
        problem: The program, with a workload, and an objective of its runs.
        choices: The policy's choices.
        others: Other traces, the most promising first. Of those with equal objects, the first one counts.
        reference: The baseline.
        seconds: The time to take, less what the last round takes longer.
    """
    start = time.monotonic()
    end = start + seconds
    workload = problem.program.workload
    assert workload
    measure = run_clock(workload, problem.goal.name)
    with closing(Worker(problem.limits)) as worker, linker(workload) as linked:
        first = linked(problem.open_baseline(reference, worker).object_code())
        began = time.monotonic()
        for run in workload.runs:
            measure(first, run)
        run_seconds = time.monotonic() - began
        count = finalists(end - time.monotonic(), run_seconds)
        if not count:
            return next(iter(choices), None)
        found: dict[bytes, tuple[Trace, Path]] = {}
        opened = problem.open(worker)
        for trace in (*choices, *others):
            if len(found) == count or time.monotonic() > start + BUILDS * seconds:
                break
            session = opened.fork()
            try:
                session.replay(trace)
                code = session.object_code()
                if code not in found:
                    found[code] = trace, linked(code)
            except (CompilerCrash, CompileError):
                continue
            finally:
                session.close()
        chosen = list(found.values())[: finalists(end - time.monotonic(), run_seconds)]
        if not chosen:
            return next(iter(choices), None)
        paths = [first, *(path for _, path in chosen)]
        try:
            ratios = halve(paths, workload, measure, end - time.monotonic())
        except Miscompiled:  # a crash that the search did not see
            return None
    best = int(np.argmax(ratios))
    return chosen[best][0] if ratios[best] > 0 else None


def finalists(seconds: float, run_seconds: float) -> int:
    """Return the number of objects that can run for LEAST_ROUNDS before each halving: 0 to FINALISTS.

    Args:
        seconds: The time for all.
        run_seconds: The time that the reference takes for all inputs.
    """
    for count in range(FINALISTS, 0, -1):
        left = [math.ceil(count / 2**number) for number in range(_halvings(count))]
        if sum(2 * LEAST_ROUNDS * (1 + one) * run_seconds for one in left) <= seconds:
            return count
    return 0


def halve(paths: Sequence[Path], workload: Workload, measure: Clock, seconds: float) -> list[float]:
    """Run executables in rounds; return log(the first one's time / its time) of each other one.

    The slower half drops out after an equal share of the time each, and gets -infinity.

    Args:
        paths: The reference, then the others.
        workload: The inputs.
        measure: Measures a run.
        seconds: The time to take, less what the last round takes longer.
    """
    began = time.monotonic()
    rng = np.random.default_rng(0)
    left = list(range(1, len(paths)))
    logs: dict[int, list[float]] = {number: [] for number in left}
    halvings = _halvings(len(left))
    for number in range(halvings):
        until = began + seconds * (number + 1) / halvings
        while not logs[left[0]] or time.monotonic() < until:
            row = time_round([paths[0], *(paths[i] for i in left)], workload, measure, rng)
            totals = row.sum(axis=1).clip(min=1e-9)
            for i, total in zip(left, totals[1:], strict=True):
                logs[i].append(math.log(totals[0] / total))
        left = sorted(left, key=lambda i: -centre(logs[i]))[: math.ceil(len(left) / 2)]
    return [centre(logs[i]) if i in left else -math.inf for i in range(1, len(paths))]


def _halvings(count: int) -> int:
    """Return the number of halvings until one is left: at least 1, for the rounds of a single one."""
    return max(1, math.ceil(math.log2(count))) if count else 0
