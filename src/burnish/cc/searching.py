"""One search for a request, or a remembered result for the program without a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from burnish.cc.requests import KeptReference, Request, default_memory
from burnish.core.errors import CompilerCrash, InputError
from burnish.core.guide import Guide, GuideFor, in_order
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.llvm.modules.objectives import within_limits
from burnish.search import DEFAULT, SEARCHES, Budget, Method
from burnish.search.evaluator import Evaluator
from burnish.search.memory import Memory, first_of
from burnish.search.problem import Problem
from burnish.search.run import Observer, run
from burnish.search.space import Proposals, SearchSpace

T = TypeVar("T")

NOTHING = "no remembered result makes it smaller"
MOST = 1  # remembered traces of similar programs to try; each costs a compilation
ALL = 1 << 30  # evaluations


@dataclass(frozen=True)
class Found(Generic[T]):
    """The best of one search."""

    cost: float
    trace: Trace
    evaluations: int
    crashes: int  # of the compiler
    state: T | CompilerCrash | None  # `look` at the best state, or its crash; None: clang's own is best


def objective_of(request: Request) -> str:
    """Return a request's objective, within the user's limits."""
    options = request.options
    return within_limits(
        request.objective,
        options.speed_limit,
        request.code_growth,
        stack_growth=options.stack_limit,
        ram_growth=options.ram_limit,
    )


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
    """Search, or try the remembered result of the program, or else of a similar program.

    `look` reads values from the best state, in a worker. A search takes `least_seconds` even if no time is
    left. `clangs` are the traces that lead to clang's own result.

    Raises:
        KeptReference: only remembered results are asked for, and there are none.
        ProgramError: the program cannot be read.
    """
    if request.remembered:
        assert memory
        if same := memory.same():
            return Found(same[1], same[0], 0, 0, _applied(problem, same[0], look))
        method, guide_for = REMEMBERED, _alike(memory)
    states: dict[Trace, T | CompilerCrash] = {}  # after the best trace
    crashes = [0]

    def see(evaluator: Evaluator, trace: Trace) -> None:
        if trace not in clangs and trace not in states:
            states.clear()
            states[trace] = _seen(evaluator, trace, look)

    budget = budget_of(request, least_seconds)
    better = None if budget.seconds is None else see  # a worker whose time ends is killed, with its states
    observer = Observer(lambda progress: crashes.append(progress.crashes), better, see)
    found = run(method, problem, budget, seed=request.options.seed, guide_for=guide_for, observer=observer)
    return Found(found.cost, found.trace, found.evaluations, crashes[-1], states.get(found.trace))


def beginning_with(trace: Trace, guide_for: GuideFor | None) -> GuideFor:
    """Return a guide with another first trace."""

    def begin(session: Session) -> Guide:
        guide = guide_for(session) if guide_for else Guide()
        return replace(guide, initial_traces=first_of([trace], guide.initial_traces))

    return begin


def keep(memory: Memory, trace: Trace, cost: float) -> None:
    """Store the result of a search.

    Raises:
        InputError: a memory that the user chose cannot be written.
    """
    try:
        memory.keep(trace, cost)
    except InputError:
        if memory.path != default_memory():
            raise


def budget_of(request: Request, least_seconds: float) -> Budget:
    """Return the budget of a search that begins now."""
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
    """Look at the state after a trace of this same program; its cost was measured when it was found."""
    evaluator = Evaluator(problem, workers=1)
    try:
        return _seen(evaluator, trace, look)
    finally:
        evaluator.close()


def _alike(memory: Memory) -> GuideFor:
    """Return a guide with the traces of similar programs; without such traces it ends the search."""

    def guide_for(session: Session) -> Guide:
        traces = memory.look_up(session)[:MOST]
        if not traces:
            raise KeptReference(NOTHING)
        return Guide(initial_traces=in_order(traces))

    return guide_for


def _no_search(_space: SearchSpace, _rng: np.random.Generator) -> Proposals:
    """Propose nothing: the remembered traces were already evaluated as the guide's initial traces."""
    yield from ()


REMEMBERED = Method("remembered", _no_search)
