"""One search for a request, or what a memory has of the program without a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from burnish.cc.requests import KeptReference, Request
from burnish.core.errors import CompilerCrash
from burnish.core.guide import Guide, GuideFor, in_order
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.search import DEFAULT, SEARCHES, Budget, Method
from burnish.search.evaluator import Evaluator
from burnish.search.memory import Memory
from burnish.search.problem import Problem
from burnish.search.run import Observer, run
from burnish.search.space import Proposals, SearchSpace

T = TypeVar("T")

NOTHING = "no remembered result makes it smaller"
MOST = 1  # traces of programs that are alike; each is a compilation
ALL = 1 << 30  # evaluations


@dataclass(frozen=True)
class Found(Generic[T]):
    """The best of one search."""

    cost: float
    trace: Trace
    evaluations: int
    crashes: int  # of the compiler
    state: (
        T | CompilerCrash | None
    )  # seen there, or what the compiler says against it; None: it is clang's own


def find(
    problem: Problem,
    request: Request,
    look: Callable[[Session], T],
    *,
    memory: Memory | None,
    least_seconds: float,
    guide_for: GuideFor | None = None,
    method: Method = SEARCHES[DEFAULT],
    clangs: Sequence[Trace] = ((),),
) -> Found[T]:
    """Search, or try what is remembered of the program; of one that is alike, where it was never seen.

    Args:
        problem: The program.
        request: How it is asked for.
        look: What to look at in the best state, where that is known; a function that is sent to a worker.
        memory: Of this program, if any.
        least_seconds: That a search gets where no time is left.
        guide_for: What guides it.
        method: How to search.
        clangs: Traces that lead to clang's own.

    Raises:
        KeptReference: nothing is remembered.
        ProgramError: the program cannot be read.
    """
    if request.remembered:
        assert memory
        if same := memory.same():
            return Found(same[1], same[0], 0, 0, _applied(problem, same[0], look))
        method, guide_for = REMEMBERED, _alike(memory)
    states: list[T | CompilerCrash] = []
    crashes = [0]

    def finish(evaluator: Evaluator, trace: Trace) -> None:
        if trace not in clangs:
            states.append(_seen(evaluator, trace, look))

    budget = budget_of(request, least_seconds)
    observer = Observer(lambda progress: crashes.append(progress.crashes), finish)
    found = run(method, problem, budget, seed=request.options.seed, guide_for=guide_for, observer=observer)
    return Found(found.cost, found.trace, found.evaluations, crashes[-1], states[0] if states else None)


def budget_of(request: Request, least_seconds: float) -> Budget:
    """Return the budget of a search that is asked for now."""
    seconds = request.seconds
    if request.until is not None:
        seconds = max(least_seconds, request.until - request.clock.now())
    evaluations = ALL if request.remembered else request.evaluations
    workers = 1  # the build uses the other cores
    return Budget(seconds, evaluations, request.patience, workers, clock=request.clock)


def _seen(evaluator: Evaluator, trace: Trace, look: Callable[[Session], T]) -> T | CompilerCrash:
    try:
        return evaluator.look(trace, look)
    except CompilerCrash as error:
        return error


def _applied(problem: Problem, trace: Trace, look: Callable[[Session], T]) -> T | CompilerCrash:
    """Look at the state after a trace of this very program; nothing is measured: it was when it was found."""
    evaluator = Evaluator(problem, workers=1)
    try:
        return _seen(evaluator, trace, look)
    finally:
        evaluator.close()


def _alike(memory: Memory) -> GuideFor:
    """Return the guide by what is remembered of similar programs; without any, it ends the search."""

    def guide_for(session: Session) -> Guide:
        traces = memory.look_up(session)[:MOST]
        if not traces:
            raise KeptReference(NOTHING)
        return Guide(initial_traces=in_order(traces))

    return guide_for


def _no_search(_space: SearchSpace, _rng: np.random.Generator) -> Proposals:
    """End where a search would begin: what was remembered has been tried."""
    yield from ()


REMEMBERED = Method("remembered", _no_search)
