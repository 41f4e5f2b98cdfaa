"""The optimizer of the drop-in compilers: one translation unit, one worker process, a few seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath

from burnish.cc.improve import LOAD
from burnish.cc.remembered import REMEMBERED, alike, applied
from burnish.cc.requests import KeptReference, Optimized, OptimizeRequest
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.guide import Guide, GuideFor
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.llvm.modules.debug_info import with_debug_info, without_debug_info
from burnish.llvm.modules.objectives import within_limits
from burnish.llvm.modules.session import ModuleSession
from burnish.policies import find as policies
from burnish.search import DEFAULT, SEARCHES, Budget
from burnish.search.evaluator import Evaluator
from burnish.search.memory import Memory, first_of
from burnish.search.problem import Problem
from burnish.search.run import Observer, run
from burnish.tasks.llvm_passes import LANGUAGE, Options, make_task
from burnish.workers.worker import Limits

LEAST_SECONDS = 1e-3  # for the policy's first choice, which is always tried
ALL = 1 << 30  # evaluations
SLOWEST_SECONDS = 600.0  # of one step, where it is no matter of time
LEAST_DEADLINE_SECONDS = 60.0  # by the wall, for a step that hangs without taking processor time


@dataclass(frozen=True)
class _Content:
    """The best state."""

    bitcode: bytes
    run_time: Mapping[str, float]  # of the reference; see Optimized


@dataclass(frozen=True)
class _Found:
    """The best of one search."""

    cost: float
    trace: Trace
    evaluations: int
    content: _Content | str | None  # or what the compiler says against it; None: it is clang's own
    crashes: int


def optimize(bitcode: bytes, request: OptimizeRequest) -> Optimized:
    """Search for the passes of one file and return its bitcode after them.

    With an inlining policy, the inliner has its answers where clang's own pipeline is better for that.

    Raises:
        KeptReference: the search found nothing better than the level's own pipeline.
        BurnishError: the file cannot be optimized.
    """
    task = make_task(Options(level=request.level))
    program = without_debug_info(Program(PurePath(request.name).name, LANGUAGE, bitcode))
    objective = within_limits(request.objective, request.speed_limit, request.code_growth)
    problem = Problem(task, program, objective, limits=_limits(request))
    if request.inline_policy and not request.remembered:
        found, note = _answered(problem, request, bitcode)
    else:
        found, note = _search(problem, request, bitcode), ""
    content, counts = found.content, (found.evaluations, found.crashes)
    if math.isinf(found.cost):
        raise KeptReference(f"nothing was measured within the budget{note}", *counts)
    if content is None:
        raise KeptReference(f"nothing smaller was found{note}", *counts)
    if isinstance(content, str):
        raise KeptReference(f"{content} (after {', '.join(found.trace)})", *counts)
    return Optimized(content.bitcode, found.trace, found.evaluations, content.run_time, found.crashes)


def _answered(problem: Problem, request: OptimizeRequest, bitcode: bytes) -> tuple[_Found, str]:
    """Search with a policy's answers to the inliner, where they pay; or say why there are none."""
    from burnish.cc.inlined import behind, decide  # which few need

    if request.budget_seconds is not None and request.until is None:
        request = replace(request, until=request.clock.now() + request.budget_seconds)
    answers, failure = decide(problem, request)
    if not answers:
        return _search(problem, request, bitcode), failure
    found = _search(behind(answers, problem, request), replace(request, memory=None), bitcode, clangs=())
    return replace(found, trace=(*answers, *found.trace)), ""


def _search(
    problem: Problem, request: OptimizeRequest, bitcode: bytes, clangs: Sequence[Trace] | None = None
) -> _Found:
    """Search for the passes of a program.

    Args:
        problem: The program, without debug information.
        request: How it is asked for.
        bitcode: The program with its debug information, if it has any.
        clangs: Traces that lead to clang's own module, by default the task's initial ones.
    """
    if request.remembered:
        return _described(problem, bitcode, _remembered(problem, request))
    task, objective = problem.task, problem.goal.name
    guide = policies.find_guide(request.policy or policies.DEFAULT, task, objective)
    guide_for = guide[0] if guide else None
    if request.memory:
        guide_for = remembered = Memory(request.memory, task, problem.program, objective, guide_for)
    if request.begin:
        guide_for = _beginning_with(request.begin, guide_for)
    method = SEARCHES[request.search or DEFAULT]
    contents: list[_Content | str] = []
    crashes = [0]
    clangs = task.hints.initial_traces if clangs is None else clangs
    look = _looker(request)
    observer = Observer(
        lambda progress: crashes.append(progress.crashes), partial(_take, contents, clangs, look)
    )
    found = run(
        method,
        problem,
        budget_of(request),
        seed=request.seed,
        guide_for=guide_for,
        observer=observer,
    )
    content = contents[0] if contents else None
    if request.memory and isinstance(content, _Content):
        remembered.keep(found.trace, found.cost)
    return _described(
        problem, bitcode, _Found(found.cost, found.trace, found.evaluations, content, crashes[-1])
    )


def _described(problem: Problem, bitcode: bytes, found: _Found) -> _Found:
    """Give the best state its debug information, if the program has any."""
    content = found.content
    if not isinstance(content, _Content) or problem.program.content is bitcode:
        return found
    try:
        described = with_debug_info(problem, bitcode, found.trace, content.bitcode)
    except (CompilerCrash, ProgramError) as error:
        return replace(found, content=str(error))
    return replace(found, content=replace(content, bitcode=described))


def _remembered(problem: Problem, request: OptimizeRequest) -> _Found:
    """Apply what is remembered of the program; of one that is alike, where it was never seen."""
    assert request.memory
    task, look = problem.task, _looker(request)
    memory = Memory(request.memory, task, problem.program, problem.goal.name)
    if same := memory.same():
        return _Found(same[1], same[0], 0, applied(problem, same[0], look), 0)
    contents: list[_Content | str] = []
    observer = Observer(finish=partial(_take, contents, task.hints.initial_traces, look))
    found = run(REMEMBERED, problem, budget_of(request), guide_for=alike(memory), observer=observer)
    return _Found(found.cost, found.trace, found.evaluations, contents[0] if contents else None, 0)


def _looker(request: OptimizeRequest) -> Callable[[Session], _Content]:
    return partial(_look, with_run_time=bool(request.code_share) and request.speed_limit is not None)


def _limits(request: OptimizeRequest) -> Limits:
    budget = budget_of(request)
    # Where evaluations are counted, the clock has no say in what is found: a deadline is for what hangs.
    deadline = (
        SLOWEST_SECONDS if budget.seconds is None else max(LEAST_DEADLINE_SECONDS, LOAD * budget.seconds)
    )
    return Limits(deadline_seconds=deadline, begin="fork")


def _beginning_with(trace: Trace, guide_for: GuideFor | None) -> GuideFor:
    def begin(session: Session) -> Guide:
        guide = guide_for(session) if guide_for else Guide()
        return replace(guide, initial_traces=first_of([trace], guide.initial_traces))

    return begin


def _take(
    contents: list[_Content | str],
    clangs: Sequence[Trace],
    look: Callable[[Session], _Content],
    evaluator: Evaluator,
    trace: Trace,
) -> None:
    """Take the bitcode of what was found, or what the compiler says against it."""
    if trace in clangs:
        return
    try:
        contents.append(evaluator.look(trace, look))
    except CompilerCrash as error:
        contents.append(str(error))


def _look(session: Session, with_run_time: bool) -> _Content:
    """Take what is asked for later from where it is known."""
    bitcode = session.observe("bitcode")
    assert isinstance(session, ModuleSession) and isinstance(bitcode, bytes)
    return _Content(bitcode, session.reference_run_time() if with_run_time else {})


def budget_of(request: OptimizeRequest, least_seconds: float = LEAST_SECONDS) -> Budget:
    """Return the budget of a search that is asked for now."""
    seconds = request.budget_seconds
    if request.until is not None:
        seconds = max(least_seconds, request.until - request.clock.now())
    evaluations = ALL if request.remembered else request.evaluations
    workers = 1  # the build uses the other cores
    return Budget(seconds, evaluations, request.patience, workers, clock=request.clock)
