"""Inlining by a policy, before the passes of an object; the failure of a policy never stops a build."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from burnish.cc.requests import Request
from burnish.core.errors import BurnishError
from burnish.core.trace import Trace
from burnish.policies.answer import answers_of
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.inlined import open_answered, other_answers
from burnish.tasks.llvm_inlining.session import InliningOptions, open_inlining
from burnish.tasks.llvm_passes import Options
from burnish.workers.sandbox import Sandbox

FAILED = "; the inlining policy did not answer: "


def decide(problem: Problem, request: Request) -> tuple[Trace, str]:
    """Return the answers of a policy that differ from LLVM's heuristic, if they improve the objective.

    Returns:
        The answers, or () if they are not better; then the reason if the policy failed, else "".
    """
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


def after(answers: Trace, problem: Problem, request: Request) -> Problem:
    """Return the problem of choosing the passes, with an inliner that gives these answers."""
    opener = partial(open_answered, options=Options(level=request.level), answers=answers)
    return replace(problem, task=replace(problem.task, open=opener))
