"""The budget of one search: its evaluations, the best one, and the time reserved for joined traces."""

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

PATIENCE = 1000  # batches in a row without a new trace: then all traces were tried
JOIN_SHARE = 0.5  # first reserve / time to open the program and evaluate its first trace: joining takes less
RESERVE = 1.5  # later reserve / time of the last evaluation of a joined trace
SPARED = 3.0  # fewest spare seconds that are useful for the following stage / time of the first trace


@dataclass(frozen=True)
class Progress:
    """The state of a running search; `latest` is the newest evaluation."""

    best: Evaluation
    latest: Evaluation
    evaluations: int
    crashes: int
    seconds: float


class Spending:
    """Evaluates the batches of a search until its budget is spent.

    Trials at sites are useless until their joined trace is evaluated as a whole. So `reserve` seconds are
    kept for that evaluation, as soon as the first trace has shown how long an evaluation takes.

    Attributes:
        best: The best evaluation so far.
        limit: The limit in seconds; None without such a limit.
        refining: True while `Method.first` runs: a joined trace may then take `reserve` seconds beyond the
            end.
    """

    def __init__(
        self, problem: Problem, budget: Budget, progress: Callable[[Progress], None] | None = None
    ) -> None:
        """Start the worker processes and the clock."""
        # Parallel measurements would disturb each other, and parallel compilations would disturb them.
        workers = 1 if problem.goal.noisy and budget.workers is None else budget.workers
        self.start = budget.clock.now()
        self.evaluator = Evaluator(problem, workers=workers, clock=budget.clock)
        self.best = NOTHING
        self.limit = budget.seconds
        self.reserve = 0.0
        self.refining = False
        self._budget = budget
        self._progress = progress
        self._improved = 0  # the number of evaluations when the best one was found
        self._stale = 0  # batches in a row without a new trace

    @property
    def seconds(self) -> float:
        """The seconds since the start, by the budget's clock."""
        return self.evaluator.now() - self.start

    @property
    def share(self) -> float:
        """The used share of the budget."""
        evaluations = self._budget.evaluations
        return max(
            self.seconds / self.limit if self.limit else 0.0,
            self.evaluator.evaluations / evaluations if evaluations else 0.0,
        )

    def first_took(self, seconds: float) -> None:
        """Set the reserve by the time of the first trace; use spare seconds that are too few for a stage."""
        self.reserve = JOIN_SHARE * seconds
        if self.limit is not None and self._budget.spare_seconds < SPARED * seconds:
            self.limit += self._budget.spare_seconds

    def evaluate(self, batch: Batch | SiteTrials, *, timed: bool = True) -> list[Evaluation]:
        """Return the evaluations of a batch, in its order; keep the best.

        Args:
            batch: Traces, or trials at sites.
            timed: Apply the limit in seconds.

        Raises:
            BudgetSpent: the budget is spent.
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
        late = self.reserve if self.refining and not joined else 0.0  # for the joined trace of these trials
        if self._is_out_of_patience() or (end is not None and evaluator.now() >= end + late):
            raise BudgetSpent
        return evaluator.known(batch)

    def _most(self, batch: Batch | SiteTrials) -> int | None:
        """Return the number of evaluations left, less one for a trial; None without such a limit."""
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
