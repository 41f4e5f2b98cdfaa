"""The live line of an evaluation: progress, means so far, and the time left."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from burnish.console.numbers import duration_text
from burnish.console.progress import Bars
from burnish.evaluation.budgets import BudgetRule
from burnish.evaluation.compare import Figures, MethodComparison, Refused
from burnish.evaluation.rows import Row

LOG_SECONDS = 60.0  # between two lines if there is no terminal
CHECK_SECONDS = 1.0  # to replay a result, for the estimate of the time left


class EvaluationProgress(Bars):
    """Rows, time left, and each method's mean so far: a bar on a terminal, occasional lines otherwise."""

    def __init__(self, plan: MethodComparison, programs: int, done: Sequence[Row], *, quiet: bool) -> None:
        text = TextColumn("{task.description}")
        super().__init__(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), text, quiet=quiet)
        self._weight = {rule.text: _weight(rule) for rule in plan.budgets}
        self._methods = len(plan.methods)
        self._left = programs * self._methods * sum(self._weight.values())
        self._left -= sum(self._weight[row.budget] for row in done)
        self._spent = 0.0
        self._logs: dict[tuple[str, str], list[float]] = {}
        for row in done:
            self._note(row)
        total = programs * self._methods * len(plan.budgets)
        self._bar = self._bars.add_task("", total=total, completed=len(done))
        self._start = self._logged = time.monotonic()

    def __call__(self, item: Row | Figures | Refused) -> None:
        """Show a new item."""
        if isinstance(item, Refused):
            self._console.print(f"{item.program}: left out: {item.reason}", highlight=False, markup=False)
            self._left -= self._methods * sum(self._weight.values())
        if not isinstance(item, Row):
            return
        self._note(item)
        self._spent += self._weight[item.budget]
        self._left -= self._weight[item.budget]
        text = f"{self._time_left()} left  {self._means(item.budget)}"
        self._bars.update(self._bar, description=text, advance=1)
        now = time.monotonic()
        if self._lines and now - self._logged > LOG_SECONDS:
            self._logged = now
            task = self._bars.tasks[0]
            self._console.print(f"{task.completed:.0f}/{task.total:.0f} rows  {text}", highlight=False)

    def _note(self, row: Row) -> None:
        self._logs.setdefault((row.budget, row.method), []).append(math.log(row.ratio))

    def _means(self, budget: str) -> str:
        means = [
            f"{method} {math.exp(math.fsum(logs) / len(logs)):.4f}"
            for (of, method), logs in self._logs.items()
            if of == budget
        ]
        return f"{budget}: {', '.join(means)}"

    def _time_left(self) -> str:
        return duration_text((time.monotonic() - self._start) / max(self._spent, 1e-9) * max(self._left, 0.0))


def _weight(rule: BudgetRule) -> float:
    """Return the estimated time of a row, in seconds or another unit: only ratios matter."""
    if rule.timed:
        return (rule.seconds or 1.0) + CHECK_SECONDS
    return (rule.evaluations or 0) / 20 + CHECK_SECONDS
