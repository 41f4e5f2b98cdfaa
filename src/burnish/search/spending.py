"""The evaluations of one search within its budget, the best of them, and the time that joining needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from burnish.core.trace import of_sites
from burnish.search.budget import Budget
from burnish.search.evaluator import BudgetSpent, Evaluator
from burnish.search.prefix_tree import NOTHING
from burnish.search.problem import Problem
from burnish.search.space import Ask, Batch, Evaluation, SiteTrials

PATIENCE = 1000  # batches in a row without a new trace: all traces were tried
JOIN_SHARE = 0.5  # of the time to open the program and to evaluate its first trace: more than to join trials
RESERVE = 1.5  # times what the last evaluation of a joined trace took
SPARED = 3.0  # times the first trace's time: fewer spare seconds are of no use to the stage that follows


@dataclass(frozen=True)
class Progress:
    """The state of a running search; `latest` is the evaluation that is new."""

    best: Evaluation
    latest: Evaluation
    evaluations: int
    crashes: int
    seconds: float


class Spending:
    """Evaluates the batches of a search until its budget is spent.

    Trials at sites are worth nothing until their joined trace is evaluated as a whole. So time is kept for
    that: `reserve` seconds, once the first trace has shown how long an evaluation takes.

    Attributes:
        best: The best evaluation so far.
        limit: Seconds of the search; None without such a limit.
        refining: Whether the search refines sites before the guide's later choices: a joined trace may then
            take `reserve` seconds beyond the end.
    """

    def __init__(
        self, problem: Problem, budget: Budget, progress: Callable[[Progress], None] | None = None
    ) -> None:
        """Start the worker processes and the clock."""
        # Measurements would disturb each other, and compilers the measurements.
        workers = 1 if problem.goal.noisy and budget.workers is None else budget.workers
        self.start = budget.clock.now()
        self.evaluator = Evaluator(problem, workers=workers, clock=budget.clock)
        self.best = NOTHING
        self.limit = budget.seconds
        self.reserve = 0.0
        self.refining = False
        self._budget = budget
        self._progress = progress
        self._improved = 0  # evaluations until the best
        self._stale = 0  # batches in a row without a new trace

    @property
    def seconds(self) -> float:
        """The seconds since the start, by the budget's clock."""
        return self.evaluator.now() - self.start

    @property
    def share(self) -> float:
        """The share of the budget that is used up."""
        evaluations = self._budget.evaluations
        return max(
            self.seconds / self.limit if self.limit else 0.0,
            self.evaluator.evaluations / evaluations if evaluations else 0.0,
        )

    def first_took(self, seconds: float) -> None:
        """Set the reserve by what the first trace took; take the spare seconds where they are of no use."""
        self.reserve = JOIN_SHARE * seconds
        if self.limit is not None and self._budget.spare_seconds < SPARED * seconds:
            self.limit += self._budget.spare_seconds

    def evaluate(self, batch: Batch | SiteTrials, *, timed: bool = True) -> list[Evaluation]:
        """Return the evaluations of a batch, in its order; keep the best.

        Args:
            batch: Traces, or trials at sites.
            timed: Whether the limit in seconds holds for it.

        Raises:
            BudgetSpent: nothing more may be evaluated.
        """
        evaluator = self.evaluator
        end = self.start + self.limit if timed and self.limit is not None else None
        joined = _is_joined(batch)
        trial = isinstance(batch, SiteTrials) or (batch.partial and not joined)
        until = end
        if end is not None and self.reserve:
            until = end - self.reserve if trial else end + self.reserve * (joined and self.refining)
        before, cost, begin = evaluator.trials, self.best.cost, evaluator.now()
        for evaluation in evaluator.evaluate(batch, most=self._most(batch), end=until):
            self.best = min(self.best, evaluation, key=lambda item: item.order)
            if self._progress:
                counts = evaluator.evaluations, evaluator.crashes
                self._progress(Progress(self.best, evaluation, *counts, self.seconds))
        new = evaluator.trials > before
        if self.reserve and joined and new:
            self.reserve = RESERVE * (evaluator.now() - begin)
        if self.best.cost < cost:
            self._improved = evaluator.evaluations
        self._stale = 0 if new else self._stale + 1
        late = self.reserve if self.refining and not joined else 0.0  # for joining what was tried at sites
        if self._is_out_of_patience() or (end is not None and evaluator.now() >= end + late):
            raise BudgetSpent
        return evaluator.known(batch)

    def _most(self, batch: Batch | SiteTrials) -> int | None:
        """Return how many evaluations are left; a trial leaves one."""
        if self._budget.evaluations is None:
            return None
        kept = isinstance(batch, Batch) and batch.trial
        return self._budget.evaluations - self.evaluator.evaluations - kept

    def _is_out_of_patience(self) -> bool:
        patience = math.inf if self._budget.patience is None else self._budget.patience
        return self._stale >= PATIENCE or self.evaluator.evaluations - self._improved >= patience


def _is_joined(batch: Batch | SiteTrials) -> bool:
    """Return whether a batch joins the best trials of sites."""
    if isinstance(batch, SiteTrials) or batch.trial or Ask.SITE_COSTS not in batch.ask:
        return False
    return bool(of_sites(batch.traces[0]))
