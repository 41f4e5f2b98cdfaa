"""Run a search under a budget and keep the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from burnish.core.clock import WALL
from burnish.core.guide import Guide, GuideFor
from burnish.core.result import Result
from burnish.core.trace import WHOLE_PROGRAM, Trace, split_entry
from burnish.search.budget import Budget
from burnish.search.evaluator import BudgetSpent, Evaluator
from burnish.search.prefix_tree import NOTHING
from burnish.search.problem import Problem
from burnish.search.space import Batch, Evaluation, Proposals, SearchSpace
from burnish.workers.sandbox import Sandbox

PATIENCE = 1000  # batches in a row without a new trace: all has been tried
INITIAL_SHARE = 0.6  # of the budget, after which no more initial traces are evaluated
LARGE_INITIAL_SHARE = 0.8  # likewise in a large program, of whose sites alone there is little to expect
FIRST_SHARE = 0.7  # of the budget: where the first trace takes more, there is no time for `first`
FIRST_EVALUATIONS = 20  # under a budget in evaluations alone: likewise, where there are fewer
LARGE_SHARE = 0.12  # of the budget in seconds: a program whose first trace takes longer is large
JOIN_SHARE = 0.5  # of what opening a program and its first trace take: more than what is joined behind it
SPARED = 3.0  # times the same: fewer spare seconds are of no use to a stage that follows
RESERVE = 1.5  # times what the last evaluation of a trace with entries at sites took
LARGE_SITES = 500  # under a budget in evaluations alone: likewise, from so many sites on
CHOICE_SHARE = 0.5  # of what is left of that, for the choice of a trace: it has to be evaluated, too

Search = Callable[[SearchSpace, np.random.Generator], Proposals]


@dataclass(frozen=True)
class Method:
    """A search and its name.

    Attributes:
        first: What comes after the guide's first choice, from the best so far, where the guide has
            suffixes and there is time; without it, no program is large. What it finds at single sites is at
            the end of all later choices.
    """

    name: str
    search: Search
    first: Search | None = None


@dataclass(frozen=True)
class Progress:
    """What is known while a search runs; the latest evaluation is what there is new."""

    best: Evaluation
    latest: Evaluation
    evaluations: int
    crashes: int
    seconds: float


@dataclass(frozen=True)
class Observer:
    """Who sees how a search goes on.

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

    The task's initial traces and those of the guide are evaluated first: its first choice even
    where a budget in seconds is too short for it, which is the policy alone; that choice may take as long as
    all before it. What was found at a large program's sites alone is evaluated together even where that takes
    up to twice as long as was set aside for it. Under a budget in evaluations alone the result depends on the
    seed only, not on the number of workers. An interruption (Ctrl-C) ends the search: what was found so far
    is returned; the cost is infinite where nothing was. The result is not verified: see
    burnish.evaluation.confirm.

    Args:
        method: The search.
        problem: What to optimize.
        budget: Where to stop.
        seed: Of every random choice.
        guide_for: A policy that says where to look first.
        observer: Who sees how it goes on.

    Raises:
        ProgramError: the program cannot be read.
    """
    start = budget.clock.now()
    limit = budget.seconds
    task, first = problem.task, method.first
    best = NOTHING
    improved = 0  # evaluations until the best
    # Measurements would disturb each other, and compilers the measurements.
    workers = 1 if problem.goal.noisy and budget.workers is None else budget.workers
    evaluator = Evaluator(problem, workers=workers, clock=budget.clock)
    now = evaluator.now

    stale = 0
    begun = False  # with `first`
    reserve = 0.0  # seconds that are left for evaluating the whole when sites are tried alone

    def spent() -> float:
        """Return the share of the budget that is used up."""
        seconds = (now() - start) / limit if limit else 0.0
        evaluations = evaluator.evaluations / budget.evaluations if budget.evaluations else 0.0
        return max(seconds, evaluations)

    def evaluate(batch: Batch, *, timed: bool = True) -> list[Evaluation]:
        nonlocal best, improved, stale, reserve
        end = start + limit if timed and limit is not None else None
        before, cost, begin = evaluator.trials, best.cost, now()
        most = (
            None if budget.evaluations is None else budget.evaluations - evaluator.evaluations - batch.trial
        )
        joined = batch.site_costs and not batch.trial and bool(_at_sites(batch.traces[0]))
        until = end
        if end is not None and reserve:
            kept = (batch.partial and not joined) or batch.alone is not None
            until = end - reserve if kept else end + reserve * (joined and begun)
        for evaluation in evaluator.evaluate(batch, most=most, end=until):
            best = min(best, evaluation, key=lambda item: item.order)
            if observer.progress:
                seconds = now() - start
                observer.progress(
                    Progress(best, evaluation, evaluator.evaluations, evaluator.crashes, seconds)
                )
        if reserve and joined and evaluator.trials > before:
            reserve = RESERVE * (now() - begin)
        improved = evaluator.evaluations if best.cost < cost else improved
        stale = 0 if evaluator.trials > before else stale + 1
        out_of_patience = budget.patience is not None and evaluator.evaluations - improved >= budget.patience
        late = 0.0 if joined or not begun else reserve  # what was tried at sites is to be joined
        if out_of_patience or stale >= PATIENCE or (end is not None and now() >= end + late):
            raise BudgetSpent
        return evaluator.known(batch)

    def choose(cost: float | None, least: float = 0.0) -> Trace:
        """Let the guide choose a trace; what it has the compiler do for that (rollouts) is cut off."""
        worker, begin = evaluator.workers[0], now()
        if limit is not None:
            left = start + INITIAL_SHARE * limit - begin
            worker.until = begin + max(least, CHOICE_SHARE * left)
        try:
            return _among(session.actions, guide.initial_traces.send(cost))
        finally:
            worker.until = math.inf

    def refine(tried: dict[Trace, Evaluation]) -> tuple[Trace, float]:
        """Run `first` from the best so far; return what it found at sites, and by how much that is better."""
        nonlocal begun
        assert first
        begun, begin = True, best.cost
        beginning = replace(space, initial=tuple(tried.values()), large=large)
        for evaluation in _whole(first(beginning, np.random.default_rng(seed)), evaluate):
            tried[evaluation.path] = evaluation
        begun = False
        return _at_sites(best.trace), begin / best.cost if math.isfinite(begin) else 1.0

    try:
        session = problem.open(evaluator.workers[0])
        session.ends = start + limit if limit is not None and budget.clock is WALL else math.inf
        space, guide = _explore(session, problem, guide_for)
        evaluator.policy = space.policy
        tried: dict[Trace, Evaluation] = {}
        for trace in task.initial_traces:
            (tried[trace],) = evaluate(Batch([trace], legal=space.by_state), timed=False)
        seconds = now() - start
        reserve = JOIN_SHARE * seconds
        if limit is not None and budget.spare_seconds < SPARED * seconds:
            limit += budget.spare_seconds
        enough = spent() <= FIRST_SHARE and (budget.evaluations or FIRST_EVALUATIONS) >= FIRST_EVALUATIONS
        refines = bool(first and enough and space.site_actions and tried and not space.independent_sites)
        large = refines and (spent() > LARGE_SHARE if limit else len(space.sites) >= LARGE_SITES)
        latest = 1.0 if guide.searches else LARGE_INITIAL_SHARE if large else INITIAL_SHARE
        due = refines and bool(space.suffixes)
        at_sites: Trace = ()
        scale = 1.0  # what the guide is told is without what was found at sites
        with suppress(StopIteration):  # one by one: a short budget still sees the most promising
            trace = choose(None, least=seconds)
            while (alone := len(tried) <= len(task.initial_traces) and not large) or spent() <= latest:
                batch = Batch([(*trace, *at_sites)], legal=space.by_state)
                (tried[trace],) = evaluate(batch, timed=not alone)
                cost = scale * tried[trace].cost
                if due and trace not in task.initial_traces:
                    due = False
                    at_sites, scale = refine(tried)
                trace = choose(cost)
        if due:
            refine(tried)
        session.close()
        if not large:
            (tried[()],) = evaluate(Batch([()], legal=space.by_state))
        survived = tuple(item for item in tried.values() if not item.error)
        if not space.actions or not survived:  # nothing to do, or nothing that survives
            raise BudgetSpent
        proposals = method.search(replace(space, initial=survived, large=large), np.random.default_rng(seed))
        batch = next(proposals)
        while True:
            batch = proposals.send(evaluate(batch))
    except (BudgetSpent, StopIteration, KeyboardInterrupt):
        if observer.finish and math.isfinite(best.cost):
            observer.finish(evaluator, best.path)
    finally:
        evaluator.close()
    return Result(
        task=task.id,
        program=problem.program.name,
        digest=problem.program.digest,
        objective=problem.goal.name,
        method=method.name,
        seed=seed,
        trace=best.path,
        cost=best.cost,
        baselines={},
        evaluations=evaluator.evaluations,
        seconds=round(now() - start, 3),
        toolchain={},
        options=task.options,
        illegal=evaluator.illegal,
    )


def _whole(proposals: Proposals, evaluate: Callable[[Batch], list[Evaluation]]) -> Iterator[Evaluation]:
    """Run a search to its own end, and yield what it had of the whole program."""
    with suppress(StopIteration):
        batch = next(proposals)
        while True:
            evaluations = evaluate(batch)
            if batch.alone is None:
                yield from evaluations
            batch = proposals.send(evaluations)


def _explore(session: Sandbox, problem: Problem, guide_for: GuideFor | None) -> tuple[SearchSpace, Guide]:
    """Look at the program once: what is legal, which sites there are, and what the guide says.

    Where all actions are legal on the whole program, they are taken to be so in every state. What answers a
    question, or what a policy does at a site, depends on the state.
    """
    guide = guide_for(session) if guide_for else Guide()
    sites = session.sites()
    legal = session.legal()
    asks = bool(session.question())
    by_state = asks or not legal.all() or bool(guide.policy and guide.policy.sites)
    actions = session.actions if legal.any() or any(session.legal(site).any() for site in sites) else ()
    site_actions: Trace = ()
    if sites and problem.goal.by_site and legal.any() and not asks:
        # What is applied to the program is so at each of its sites.
        site_actions = session.actions if by_state else _legal(session, sites[0])
    prior = guide.prior.among(actions) if guide.prior and actions else None
    task = problem.task
    learned = (guide.suffixes or task.suffixes) if site_actions else ()
    suffixes = tuple(filter(None, (_among(session.actions, suffix) for suffix in learned)))
    longest = max(1, task.max_trace + task.max_trace_by_site * len(sites))
    told = suffixes, prior, guide.policy
    space = SearchSpace(actions, site_actions, sites, (), longest, *told, by_state=by_state, asks=asks)
    return replace(space, independent_sites=task.independent_sites, prior_gains=task.prior_gains), guide


def _at_sites(trace: Trace) -> Trace:
    return tuple(text for text in trace if split_entry(text)[0] != WHOLE_PROGRAM)


def _among(actions: Sequence[str], trace: Trace) -> Trace:
    """Return a trace without what a policy knows, and the task, with fewer actions, does not have."""
    return tuple(text for text in trace if split_entry(text)[1] in actions)


def _legal(session: Sandbox, site: str) -> Trace:
    return tuple(text for text, legal in zip(session.actions, session.legal(site), strict=True) if legal)
