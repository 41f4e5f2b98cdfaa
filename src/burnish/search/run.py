"""Run a search under a budget and keep the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from burnish.core.clock import WALL
from burnish.core.guide import Guide, GuideFor
from burnish.core.result import Result
from burnish.core.trace import Trace, of_sites, split_entry
from burnish.search.budget import Budget
from burnish.search.evaluator import BudgetSpent, Evaluator
from burnish.search.problem import Problem
from burnish.search.space import Batch, Evaluation, SearchSpace, SiteProposals
from burnish.search.spending import Progress, Spending
from burnish.workers.sandbox import Sandbox

INITIAL_SHARE = 0.6  # of the budget, after which no more initial traces are evaluated
CHOICE_SHARE = 0.5  # of what is left of that, for the choice of a trace: it has to be evaluated, too
# A program is large where the budget has few evaluations of the whole: where the first trace took more than
# this share of the seconds, or, under a budget in evaluations alone, from so many sites on.
LARGE_SHARE = 0.12
LARGE_SITES = 500
LARGE_INITIAL_SHARE = 0.8  # the same as INITIAL_SHARE in a large program, whose isolated sites gain little
FIRST_SHARE = 0.7  # of the budget: where the first trace takes more, there is no time for `first`
FIRST_EVALUATIONS = 20  # the least budget in evaluations for `first`

Search = Callable[[SearchSpace, np.random.Generator], SiteProposals]


@dataclass(frozen=True)
class Method:
    """A search and its name.

    Attributes:
        first: A search at sites, for programs with suffixes of a guide and enough time: it begins from the
            best so far after the guide's first choice, and its entries are appended to all later choices. A
            method without it takes no program for large.
    """

    name: str
    search: Search
    first: Search | None = None


@dataclass(frozen=True)
class Observer:
    """Functions that follow a search.

    Attributes:
        progress: Called after every evaluation.
        finish: Called with the best trace at the end: its state may still be there for Evaluator.observe.
    """

    progress: Callable[[Progress], None] | None = None
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

    The task's initial traces and those of the guide are evaluated first. The guide's first choice is
    evaluated even where a budget in seconds is too short for it, which is the policy alone; that choice may
    take as long as all before it. The joined trace of a large program's sites is evaluated even where that
    takes up to twice as long as the time that was kept for it. Under a budget in evaluations alone the result
    depends on the seed only, not on the number of workers. An interruption (Ctrl-C) ends the search, and the
    best so far is returned; the cost is infinite where there is none. The result is not verified: see
    burnish.evaluation.confirm.

    Args:
        method: The search.
        problem: The program, the task and the objective.
        budget: The end of the search.
        seed: Of every random choice.
        guide_for: A policy that guides the search.
        observer: Functions that follow the search.

    Raises:
        ProgramError: the program cannot be read.
    """
    spending = Spending(problem, budget, observer.progress)
    try:
        with suppress(BudgetSpent, KeyboardInterrupt):
            session = problem.open(spending.evaluator.workers[0])
            in_seconds = spending.limit is not None and budget.clock is WALL
            session.ends = spending.start + (spending.limit or 0.0) if in_seconds else math.inf
            space, guide = _explore(session, problem, guide_for)
            spending.evaluator.policy = space.policy
            space = _Beginning(method, problem, budget, seed, spending, session).run(space, guide)
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
    """Evaluate the batches of a search to its own end; call `seen` with the evaluations of whole programs.

    Raises:
        BudgetSpent: before that.
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
    """The traces that are evaluated before the method's own: the task's, and those that the guide chooses."""

    method: Method
    problem: Problem
    budget: Budget
    seed: int
    spending: Spending
    session: Sandbox

    def run(self, space: SearchSpace, guide: Guide) -> SearchSpace:
        """Evaluate the initial traces; return the search space with those that did not fail.

        Raises:
            BudgetSpent: before the end.
        """
        spending, task = self.spending, self.problem.task
        tried: dict[Trace, Evaluation] = {}
        for trace in task.hints.initial_traces:
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
            while (is_first := len(tried) <= len(task.hints.initial_traces) and not space.large) or (
                spending.share <= latest
            ):
                batch = Batch([(*trace, *at_sites)], space.legal)
                (tried[trace],) = spending.evaluate(batch, timed=not is_first)
                cost = scale * tried[trace].cost
                if due and trace not in task.hints.initial_traces:
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
        """Return whether the method has a search at sites that fits the program and the budget."""
        is_short = (self.budget.evaluations or FIRST_EVALUATIONS) < FIRST_EVALUATIONS
        if not self.method.first or is_short or self.spending.share > FIRST_SHARE:
            return False
        return bool(space.site_actions) and not space.independent_sites

    def _is_large(self, space: SearchSpace) -> bool:
        if self.spending.limit:
            return self.spending.share > LARGE_SHARE
        return len(space.sites) >= LARGE_SITES

    def _choose(self, guide: Guide, cost: float | None, least: float = 0.0) -> Trace:
        """Return the guide's next trace; the compiler's work for that choice (rollouts) is cut off.

        Raises:
            StopIteration: the guide has no more.
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
        """Run `first` from the best so far; return the entries that it found at sites, and their gain."""
        assert self.method.first
        spending, begin = self.spending, self.spending.best.cost
        spending.refining = True
        proposals = self.method.first(
            replace(space, initial=tuple(tried.values())), np.random.default_rng(self.seed)
        )
        _follow(proposals, spending, lambda found: tried.update({found.path: found}))
        spending.refining = False
        return of_sites(spending.best.trace), begin / spending.best.cost if math.isfinite(begin) else 1.0


def _explore(session: Sandbox, problem: Problem, guide_for: GuideFor | None) -> tuple[SearchSpace, Guide]:
    """Return the search space of an opened program, without initial traces, and the guide.

    Where all actions are legal on the whole program, they are taken to be legal in every state. Answers to a
    compiler's questions, and a policy's actions at sites, depend on the state.
    """
    guide = guide_for(session) if guide_for else Guide()
    sites = session.sites()
    legal = session.legal()
    asks = bool(session.question())
    by_state = asks or not legal.all() or bool(guide.policy and guide.policy.sites)
    actions = session.actions if legal.any() or any(session.legal(site).any() for site in sites) else ()
    site_actions: Trace = ()
    if sites and problem.goal.by_site and legal.any() and not asks:
        # An action on the program is applied at each of its sites.
        site_actions = session.actions if by_state else _legal(session, sites[0])
    task = problem.task
    learned = (guide.suffixes or task.hints.suffixes) if site_actions else ()
    space = SearchSpace(
        actions=actions,
        site_actions=site_actions,
        sites=sites,
        initial=(),
        max_length=max(1, task.hints.max_trace + task.hints.max_trace_by_site * len(sites)),
        suffixes=tuple(filter(None, (_among(session.actions, suffix) for suffix in learned))),
        prior=guide.prior.among(actions) if guide.prior and actions else None,
        policy=guide.policy,
        by_state=by_state,
        asks=asks,
        independent_sites=task.hints.independent_sites,
        prior_gains=task.hints.prior_gains,
    )
    return space, guide


def _among(actions: Sequence[str], trace: Trace) -> Trace:
    """Return a trace without the actions that a policy has and the task, with fewer actions, does not."""
    return tuple(text for text in trace if split_entry(text)[1] in actions)


def _legal(session: Sandbox, site: str) -> Trace:
    return tuple(text for text, legal in zip(session.actions, session.legal(site), strict=True) if legal)
