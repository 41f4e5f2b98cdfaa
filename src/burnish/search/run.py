"""The run of a search within a budget: from a problem to a result; the time reserved for joined traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from burnish.core.clock import WALL
from burnish.core.guide import Guide, GuideFor
from burnish.core.result import Result
from burnish.core.trace import WHOLE_PROGRAM, Trace, of_sites, split_entry
from burnish.search.budget import Budget
from burnish.search.evaluator import BudgetSpent, Evaluator
from burnish.search.prefix_tree import NOTHING
from burnish.search.problem import Problem
from burnish.search.space import Ask, Batch, Evaluation, SearchSpace, SiteProposals, SiteTrials
from burnish.workers.sandbox import Sandbox

PATIENCE = 1000  # batches in a row without a new trace: then all traces were tried
JOIN_SHARE = 0.5  # first reserve / time to open the program and evaluate its first trace: joining takes less
RESERVE = 1.5  # later reserve / time of the last evaluation of a joined trace
SPARED = 3.0  # fewest spare seconds that are useful for the following stage / time of the first trace
INITIAL_SHARE = 0.6  # of the budget: after that, no more initial traces are evaluated
CHOICE_SHARE = 0.5  # of the rest of that time, for the choice of a trace: its evaluation needs time, too
# A program is large if the budget allows few evaluations of the whole: if the first trace took more than this
# share of the seconds, or, under a budget in evaluations only, if the program has so many sites.
LARGE_SHARE = 0.12
LARGE_SITES = 500
LARGE_INITIAL_SHARE = 0.8  # INITIAL_SHARE of large programs, because trials at isolated sites gain little
FIRST_SHARE = 0.7  # of the budget: if the first trace takes more, there is no time for `first`
GRACE_SHARE = 0.1  # of the budget: the most that trials at sites may take beyond it
FIRST_EVALUATIONS = 20  # the least budget in evaluations for `first`


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

    def __init__(self, problem: Problem, budget: Budget, observer: Observer | None = None) -> None:
        """Start the worker processes and the clock."""
        # Parallel measurements would disturb each other, and parallel compilations would disturb them.
        workers = 1 if problem.goal.noisy and budget.workers is None else budget.workers
        self.start = budget.clock.now()
        self.evaluator = Evaluator(problem, workers=workers, clock=budget.clock)
        if budget.seconds is not None:
            grace = GRACE_SHARE * budget.seconds
            self.evaluator.grace_seconds = min(self.evaluator.grace_seconds, grace)
        self.best = NOTHING
        self.limit = budget.seconds
        self.reserve = 0.0
        self.refining = False
        self._budget = budget
        self._observer = observer or Observer()
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
        """Return the evaluations of a batch, in its order; keep the best. With `timed`, time is limited.

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
            if self._observer.progress:
                counts = evaluator.evaluations, evaluator.crashes
                self._observer.progress(Progress(self.best, evaluation, *counts, self.seconds))
        new = evaluator.trials > before
        if self.reserve and joined and new:
            self.reserve = RESERVE * (evaluator.now() - begin)
        if self.best.cost < cost:
            self._improved = evaluator.evaluations
            if self._observer.better:
                self._observer.better(evaluator, self.best.path)
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


Search = Callable[[SearchSpace, np.random.Generator], SiteProposals]


@dataclass(frozen=True)
class Method:
    """A search and its name.

    Attributes:
        first: An optional refinement of sites, run once after the guide's first choice, from the best trace
            so far. It needs learned suffixes and enough budget. Its entries are appended to all later
            choices. Without it, no program counts as large.
    """

    name: str
    search: Search
    first: Search | None = None


@dataclass(frozen=True)
class Observer:
    """Callbacks of a search.

    Attributes:
        progress: Called after every evaluation.
        better: Called after a batch with a better trace than before, whose state may still be cached for
            Evaluator.look. At the end it is not, if the time ended during an evaluation.
        finish: Called at the end with the best trace.
    """

    progress: Callable[[Progress], None] | None = None
    better: Callable[[Evaluator, Trace], None] | None = None
    finish: Callable[[Evaluator, Trace], None] | None = None


def run(
    method: Method,
    problem: Problem,
    budget: Budget,
    *,
    seed: int = 0,
    guide_for: GuideFor | None = None,
    observer: Observer = Observer(),
) -> Result:
    """Search for a trace that lowers a program's cost.

    The task's initial traces and those of the guide are evaluated first. The guide's first choice is that of
    the policy without a search. Except in large programs, it is evaluated even if a budget in seconds is too
    short for it. The guide may take as long for this choice as everything before it took. The joined trace of
    `Method.first` may take up to twice the time that is reserved for it.

    Under a budget in evaluations only, the result depends on the seed, not on the number of workers. Ctrl-C
    ends the search and returns the best result so far; its cost is infinite if nothing was evaluated. The
    result is not verified: see burnish.evaluation.confirm.

    Raises:
        ProgramError: the program cannot be read.
    """
    spending = Spending(problem, budget, observer)
    try:
        with suppress(BudgetSpent, KeyboardInterrupt):
            session = problem.open(spending.evaluator.workers[0])
            in_seconds = spending.limit is not None and budget.clock is WALL
            session.ends = spending.start + (spending.limit or 0.0) if in_seconds else math.inf
            space, guide, first = _explore(session, problem, guide_for)
            spending.evaluator.policy = space.policy
            space = _Beginning(method, problem, budget, seed, spending, session).run(space, guide, first)
            if space.actions and space.initial:
                _follow(method.search(space, np.random.default_rng(seed)), spending)
        if observer.finish and math.isfinite(spending.best.cost):
            observer.finish(spending.evaluator, spending.best.path)
    finally:
        spending.evaluator.close()
    return Result(
        task=problem.task.id,
        program=problem.program.name,
        digest=problem.program.digest,
        objective=problem.goal.name,
        method=method.name,
        seed=seed,
        trace=spending.best.path,
        cost=spending.best.cost,
        baselines={},
        evaluations=spending.evaluator.evaluations,
        seconds=round(spending.seconds, 3),
        toolchain={},
        options=problem.task.options,
        illegal=spending.evaluator.illegal,
    )


def _follow(
    proposals: SiteProposals, spending: Spending, seen: Callable[[Evaluation], None] = lambda _: None
) -> None:
    """Evaluate the batches of a search until it ends; call `seen` with each evaluation of the program.

    Raises:
        BudgetSpent: the budget is spent before the end.
    """
    with suppress(StopIteration):
        batch = next(proposals)
        while True:
            evaluations = spending.evaluate(batch)
            if isinstance(batch, Batch):
                for evaluation in evaluations:
                    seen(evaluation)
            batch = proposals.send(evaluations)


@dataclass
class _Beginning:
    """The evaluation of initial traces before the method's own: the task's and the guide's."""

    method: Method
    problem: Problem
    budget: Budget
    seed: int
    spending: Spending
    session: Sandbox

    def run(self, space: SearchSpace, guide: Guide, first: tuple[Trace, ...]) -> SearchSpace:
        """Evaluate the initial traces; return the search space with those that did not fail.

        Args:
            first: The task's initial traces.

        Raises:
            BudgetSpent: the budget is spent before the end.
        """
        spending = self.spending
        tried: dict[Trace, Evaluation] = {}
        for trace in first:
            (tried[trace],) = spending.evaluate(Batch([trace], space.legal), timed=False)
        seconds = spending.seconds
        spending.first_took(seconds)
        refines = bool(tried) and self._may_refine(space)
        space = replace(space, large=refines and self._is_large(space))
        latest = 1.0 if guide.searches else LARGE_INITIAL_SHARE if space.large else INITIAL_SHARE
        due = refines and bool(space.suffixes)
        at_sites: Trace = ()
        scale = 1.0  # the guide is sent costs without the gain at sites
        with suppress(StopIteration):  # one by one: a short budget still evaluates the most promising
            trace = self._choose(guide, None, least=seconds)
            while (is_first := len(tried) <= len(first) and not space.large) or (spending.share <= latest):
                batch = Batch([(*trace, *at_sites)], space.legal)
                (tried[trace],) = spending.evaluate(batch, timed=not is_first)
                cost = scale * tried[trace].cost
                if due and trace not in first:
                    due = False
                    at_sites, scale = self._refine(space, tried)
                trace = self._choose(guide, cost)
        if due:
            self._refine(space, tried)
        self.session.close()
        if not space.large:
            (tried[()],) = spending.evaluate(Batch([()], space.legal))
        return replace(space, initial=tuple(item for item in tried.values() if not item.error))

    def _may_refine(self, space: SearchSpace) -> bool:
        """Return whether the method has a refinement of sites that fits the program and the budget."""
        is_short = (self.budget.evaluations or FIRST_EVALUATIONS) < FIRST_EVALUATIONS
        if not self.method.first or is_short or self.spending.share > FIRST_SHARE:
            return False
        return bool(space.site_actions) and not space.independent_sites

    def _is_large(self, space: SearchSpace) -> bool:
        if self.spending.limit:
            return self.spending.share > LARGE_SHARE
        return len(space.sites) >= LARGE_SITES

    def _choose(self, guide: Guide, cost: float | None, least: float = 0.0) -> Trace:
        """Return the guide's next trace; the compiler's work for this choice (rollouts) has a time limit.

        Raises:
            StopIteration: the guide has no more traces.
        """
        spending, worker = self.spending, self.spending.evaluator.workers[0]
        begin = spending.evaluator.now()
        if spending.limit is not None:
            left = spending.start + INITIAL_SHARE * spending.limit - begin
            worker.until = begin + max(least, CHOICE_SHARE * left)
        try:
            return _among(self.session.actions, guide.initial_traces.send(cost))
        finally:
            worker.until = math.inf

    def _refine(self, space: SearchSpace, tried: dict[Trace, Evaluation]) -> tuple[Trace, float]:
        """Run `first` from the best trace; return the best entries at sites, and the cost before / after."""
        assert self.method.first
        spending, begin = self.spending, self.spending.best.cost
        spending.refining = True
        proposals = self.method.first(
            replace(space, initial=tuple(tried.values())), np.random.default_rng(self.seed)
        )
        _follow(proposals, spending, lambda found: tried.update({found.path: found}))
        spending.refining = False
        return of_sites(spending.best.trace), begin / spending.best.cost if math.isfinite(begin) else 1.0


def _explore(
    session: Sandbox, problem: Problem, guide_for: GuideFor | None
) -> tuple[SearchSpace, Guide, tuple[Trace, ...]]:
    """Return the search space of an opened program, the guide, and the task's initial traces.

    If all actions are legal on the whole program, or the task says so, what is legal now is assumed to be
    legal in every state. This is not assumed if the compiler asks questions or if a policy acts at sites.
    """
    guide = guide_for(session) if guide_for else Guide()
    hints = problem.task.hints.for_program(session)
    sites = session.sites()
    legal = session.legal()
    asks = bool(session.question())
    changes = not (legal.all() or hints.fixed_legality)
    by_state = asks or changes or bool(guide.policy and guide.policy.sites)
    actions = session.actions if legal.any() or any(session.legal(site).any() for site in sites) else ()
    if not by_state:
        actions = _legal(session, WHOLE_PROGRAM)
    site_actions: Trace = ()
    if sites and problem.goal.by_site and legal.any() and not asks:
        # An action on the whole program applies at each site.
        site_actions = session.actions if by_state else _legal(session, sites[0])
    learned = (guide.suffixes or hints.suffixes) if site_actions else ()
    known = actions if by_state else {*actions, *site_actions}
    suffixes = (_among(known, suffix) for suffix in learned)
    space = SearchSpace(
        actions=actions,
        site_actions=site_actions,
        sites=sites,
        initial=(),
        max_length=max(1, hints.max_trace + hints.max_trace_by_site * len(sites)),
        suffixes=tuple(dict.fromkeys(filter(None, suffixes))),
        prior=guide.prior.among(actions) if guide.prior and actions else None,
        policy=guide.policy,
        by_state=by_state,
        asks=asks,
        independent_sites=hints.independent_sites,
        prior_gains=hints.prior_gains,
    )
    return space, guide, hints.initial_traces


def _among(actions: Collection[str], trace: Trace) -> Trace:
    """Return a trace without the actions that the task lacks; a policy may have more actions."""
    return tuple(text for text in trace if split_entry(text)[1] in actions)


def _legal(session: Sandbox, site: str) -> Trace:
    return tuple(text for text, legal in zip(session.actions, session.legal(site), strict=True) if legal)
