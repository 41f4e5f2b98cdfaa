"""Budgets for many programs: the same for each, or multiples of the time of its own baseline pipelines."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import Opener, Task
from burnish.search import Budget
from burnish.workers.worker import Worker

REFERENCE = "reference"  # stands for the task's reference
NAMED = {"short": f"1s|5x{REFERENCE}", "long": f"10s|50x{REFERENCE}"}
MULTIPLE = re.compile(r"(\d+(?:\.\d+)?)x(\w+)")
REPEATS, ENOUGH_SECONDS = 9, 3.0  # timed rounds of all openers; no new round begins after so many seconds


@dataclass(frozen=True)
class BudgetRule:
    """A limit of time (the longest of seconds and multiples of pipelines' times), evaluations, or both."""

    text: str
    seconds: float | None = None
    multiples: Mapping[str, float] = field(default_factory=dict)  # by baseline
    evaluations: int | None = None

    @classmethod
    def parse(cls, text: str, task: Task) -> BudgetRule:
        """Read 'short', 'long', '10s', '500 evaluations', '2s|5xOz' (whichever is longer), '1s, 500'.

        'short' is 1 s or 5 times the time of the reference's pipeline, whichever is longer; 'long' is ten
        times that.

        Raises:
            InputError: the text has another form.
            UnknownName: the task has no such baseline.
        """
        seconds: list[float] = []
        multiples: dict[str, float] = {}
        evaluations: int | None = None
        for part in map(str.strip, NAMED.get(text, text).replace(",", "|").split("|")):
            if found := MULTIPLE.fullmatch(part):
                name = task.reference if found[2] == REFERENCE else found[2]
                task.baseline(name)
                multiples[name] = float(found[1])
                continue
            try:
                budget = Budget.parse(part)
            except InputError:
                raise InputError(
                    f"budget {text!r}: expected short, long, seconds (10s), minutes (2m), evaluations (500 "
                    f"evaluations), or the longest of several (2s|5x{task.reference})"
                ) from None
            seconds += [] if budget.seconds is None else [budget.seconds]
            evaluations = budget.evaluations if budget.seconds is None else evaluations
        longest = max(seconds, default=None)
        plain = text not in NAMED and not multiples
        return cls(Budget(longest, evaluations).text if plain else text, longest, multiples, evaluations)

    @property
    def timed(self) -> bool:
        """True if there is a time limit."""
        return self.seconds is not None or bool(self.multiples)

    def budget(self, pipeline_seconds: Mapping[str, float]) -> Budget:
        """Return a program's own budget.

        Args:
            pipeline_seconds: The time of its pipelines, by baseline.
        """
        longest = [factor * pipeline_seconds[name] for name, factor in self.multiples.items()]
        seconds = max([*longest, self.seconds or 0.0]) if self.timed else None
        return Budget(seconds, self.evaluations)


def pipeline_seconds(task: Task, program: Program, names: Sequence[str], worker: Worker) -> dict[str, float]:
    """Measure the time of some baselines' pipelines on a program, in seconds.

    A pipeline's time is the time to open the program in the baseline's state less the time to open it
    unoptimized. Each is the median of several alternating measurements, after a warm-up round.

    Raises:
        CompilerCrash: the compiler crashes or gives up in a pipeline.
    """
    openers = [task.baseline(name) for name in names]
    if not openers:
        return {}
    unoptimized, *seconds = worker.call(
        median_seconds, [next(iter(task.baselines.values())), *openers], program
    )
    return {name: max(0.0, item - unoptimized) for name, item in zip(names, seconds, strict=True)}


def median_seconds(openers: Sequence[Opener], program: Program) -> list[float]:
    """Return the median time of each opener in this process; slow openers get fewer rounds than REPEATS."""
    rounds = list(_rounds(openers, program))
    return [statistics.median(column) for column in zip(*rounds[1:] or rounds, strict=True)]


def _rounds(openers: Sequence[Opener], program: Program) -> Iterator[list[float]]:
    start = time.perf_counter()
    for _ in range(1 + REPEATS):
        times = []
        for opener in openers:
            before = time.perf_counter()
            opener(program).close()
            times.append(time.perf_counter() - before)
        yield times
        if time.perf_counter() - start > ENOUGH_SECONDS:
            return
