"""The optimizer of the drop-in compilers: passes for one module, in one worker process and a few seconds."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

from burnish.cc.isolation import LOAD
from burnish.cc.requests import Attempt, Emitted, KeptReference, Request
from burnish.cc.searching import Found, beginning_with, budget_of, find, keep, objective_of
from burnish.core.errors import BurnishError, CompilerCrash, ProgramError
from burnish.core.guide import GuideFor
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.llvm.modules.debug_info import with_debug_info, without_debug_info
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.policies import find as policies
from burnish.search import DEFAULT, SEARCHES
from burnish.search.memory import Memory
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import LANGUAGE, Options, make_task
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits

LEAST_SECONDS = 1e-3  # time of a search if none is left; the policy's first choice is always tried
SLOWEST_SECONDS = 600.0  # deadline of one step if the budget does not limit the time
LEAST_DEADLINE_SECONDS = 60.0  # wall time, for a step that hangs without using processor time
FAILED = "; the inlining policy did not answer: "


class Content(NamedTuple):
    """The state after a search's best trace."""

    bitcode: bytes
    calls: CallCosts | None  # after the level's own passes, if they are needed later
    emitted: Emitted | None  # see Attempt


def optimize(bitcode: bytes, request: Request) -> Attempt:
    """Search for the passes of one module and return its bitcode after them.

    The inliner uses the answers of an inlining policy if they improve the result of clang's own pipeline.

    Raises:
        KeptReference: the search found nothing better than the level's own pipeline.
        BurnishError: the file cannot be optimized.
    """
    task = make_task(Options(level=request.level))
    program = without_debug_info(Program(PurePath(request.name).name, LANGUAGE, bitcode))
    objective = objective_of(request)
    problem = Problem(task, program, objective, limits=_limits(request))
    if request.level_bitcode and program.content is bitcode:
        options, known = Options(level=request.level), request.level_bitcode
        opened = partial(open_session, options=options, level_bitcode=known)
        problem = replace(problem, task=replace(task, open=opened))
    answers: Trace = ()
    note = ""
    if request.options.inline_policy and not request.remembered:
        from burnish.tasks.llvm_inlining.inlined import open_answered  # few requests need it

        request = request.from_now()
        answers, note = answers_to_inliner(problem, request)
        if answers:
            opener = partial(open_answered, options=Options(level=request.level), answers=answers)
            problem = replace(problem, task=replace(task, open=opener))
    found = _find(problem, request, answers)
    trace, counts = (*answers, *found.trace), (found.evaluations, found.crashes)
    if math.isinf(found.cost):
        raise KeptReference(f"nothing was measured within the budget{note}", *counts)
    if found.state is None or (not answers and found.trace in task.hints.initial_traces):
        why = KeptReference(f"nothing smaller was found{note}", *counts)
        if isinstance(found.state, Content) and problem.program.content is bitcode:
            why.level = Attempt(found.state.bitcode, (), 0, found.state.calls, emitted=found.state.emitted)
        raise why
    try:
        if isinstance(found.state, CompilerCrash):
            raise found.state
        content, calls, emitted = found.state
        if problem.program.content is not bitcode:
            content = with_debug_info(problem, bitcode, found.trace, content)
            emitted = None
    except (CompilerCrash, ProgramError) as error:
        raise KeptReference(f"{error} (after {', '.join(trace)})", *counts) from None
    return Attempt(content, trace, found.evaluations, calls, found.crashes, emitted=emitted)


def answers_to_inliner(problem: Problem, request: Request) -> tuple[Trace, str]:
    """Return the answers of a policy that differ from LLVM's heuristic, if they improve the objective.

    Returns:
        The answers, or () if they are not better; then the reason if the policy failed, else "".
    """
    from burnish.policies.answer import answers_of
    from burnish.tasks.llvm_inlining import TASK
    from burnish.tasks.llvm_inlining.inlined import other_answers
    from burnish.tasks.llvm_inlining.session import InliningOptions, open_inlining

    assert request.options.inline_policy
    try:
        policy = answers_of(Path(request.options.inline_policy), TASK)
        opener = partial(open_inlining, options=InliningOptions(request.level))
        session = Sandbox(opener, problem.program, limits=problem.limits)
        try:
            cost = session.measure(problem.goal.name)
            session.answer(policy)
            return other_answers(session) if session.measure(problem.goal.name) < cost else (), ""
        finally:
            session.shutdown()
    except BurnishError as error:
        return (), f"{FAILED}{error}"
    except Exception as error:  # an error in a user's policy must not stop the build
        said = str(error).strip().splitlines() or [""]
        return (), f"{FAILED}{type(error).__name__}: {said[-1]}"


def _find(problem: Problem, request: Request, answers: Trace) -> Found[Content]:
    """Search for passes of a program without debug information; `answers` are those of the inliner."""
    task, objective, options = problem.task, problem.goal.name, request.options
    guide_for: GuideFor | None = None
    if not request.remembered:
        guide = policies.find_guide(options.policy or policies.DEFAULT, task, objective)
        guide_for = guide[0] if guide else None
    memory = None
    if options.memory and not answers:
        guide_for = memory = Memory(options.memory, task, problem.program, objective, guide_for)
    if request.begin:
        guide_for = beginning_with(request.begin, guide_for)
    clangs = () if answers else task.hints.initial_traces
    found = find(
        problem,
        request,
        partial(_look, with_calls=bool(request.code_share) and options.limits_calls),
        memory=memory,
        least_seconds=LEAST_SECONDS,
        guide_for=guide_for,
        method=SEARCHES[options.search or DEFAULT],
        clangs=() if request.code_share else clangs,
    )
    if memory and not request.remembered and isinstance(found.state, Content) and found.trace not in clangs:
        keep(memory, found.trace, found.cost)
    return found


def _limits(request: Request) -> Limits:
    seconds = budget_of(request, LEAST_SECONDS).seconds
    # A budget in evaluations must give the same result on each machine, so only a hung step meets a deadline.
    deadline = SLOWEST_SECONDS if seconds is None else max(LEAST_DEADLINE_SECONDS, LOAD * seconds)
    return Limits(deadline_seconds=deadline, begin="fork")


def _look(session: Session, with_calls: bool) -> Content:
    """Return the bitcode, and the costs of calls if they are needed later; a worker calls this."""
    bitcode = session.observe("bitcode")
    assert isinstance(session, ModuleSession) and isinstance(bitcode, bytes)
    generated = session.generated()
    emitted = Emitted(*generated) if generated else None
    return Content(bitcode, session.reference_calls() if with_calls else None, emitted)
