"""Search of a staged task: each stage has its own search, which starts after the best trace so far."""

from __future__ import annotations

import math
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from burnish.core.action import Action
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.guide import GuideFor
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.staged import StagedSession
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.search import Budget, Progress, search
from burnish.search.problem import Problem
from burnish.workers.worker import Worker

LEAST_SHARE = 0.02  # of a budget in seconds: the least time left for which another stage begins

GuideOf = Callable[[Problem], GuideFor | None]


def search_stages(
    problem: Problem,
    budget: Budget,
    guide_of: GuideOf,
    *,
    method: str,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Search the stages of a task one after the other, or a task without stages as one.

    A stage gets its share of the budget that earlier stages left. It begins where their best trace ends. If a
    budget in seconds is too short for the program, the first stages use the whole budget.

    Raises:
        ProgramError: the program cannot be read.
    """
    task, digest, start = problem.task, problem.program.digest, time.monotonic()
    problem = _as_searched(problem)
    stages = task.stages or (task,)
    found: Result | None = None
    for number, stage in enumerate(stages):
        left, more = budget.seconds, budget.evaluations
        left = None if left is None else max(0.0, left - (time.monotonic() - start))
        if found:
            stage = stage_after(task, found.trace)
            more = None if more is None else more - found.evaluations
            if left is not None and left < LEAST_SHARE * (budget.seconds or 0.0):
                break  # the program is so slow that the stages before used the whole budget
        part = replace(problem, task=stage)
        share = task.shares[number] / sum(task.shares[number:]) if task.stages else 1.0
        best = search(
            part,
            replace(
                budget,
                seconds=None if left is None else share * left,
                spare_seconds=0.0 if left is None else (1 - share) * left,
                evaluations=None if more is None else max(1, math.ceil(share * more)),
            ),
            method=method,
            seed=seed,
            guide_for=guide_of(part),
            progress=progress,
        )
        found = joined(problem, found, best) if found else replace(best, task=task.id)
        if math.isinf(found.cost):
            break
    assert found
    return replace(found, digest=digest, trace=ended(task, found.trace))


def _as_searched(problem: Problem) -> Problem:
    """Return the problem with the program to search on: see Task.files.searched.

    Raises:
        ProgramError: the program cannot be read.
    """
    make, program = problem.task.files.searched, problem.program
    if not make:
        return problem
    worker = Worker(problem.limits)
    try:
        made = worker.call(make, replace(program, workload=None))
    except CompilerCrash as error:
        raise ProgramError(f"{program.name}: the compiler failed on this input: {error}") from None
    finally:
        worker.close()
    return replace(problem, program=replace(program, content=made.content))


def joined(problem: Problem, before: Result, after: Result) -> Result:
    """Return the first result, followed by the trace of the next stage's result if that is cheaper."""
    trace, cost = (*before.trace, begin_after(problem.task, before.trace)), before.cost
    if after.trace and after.cost < cost:
        trace, cost = (*trace, *after.trace), after.cost
    evaluations, seconds = before.evaluations + after.evaluations, before.seconds + after.seconds
    return replace(before, trace=trace, cost=cost, evaluations=evaluations, seconds=seconds)


class _Opened(threading.local):
    """The session that a thread opened last, because a worker opens the same program many times."""

    key: tuple[str, bytes] | None = None
    session: StagedSession | None = None


_opened = _Opened()


def stage_after(task: Task, trace: Trace) -> Task:
    """Return the stage of a staged task that follows a trace, as a task that starts after the trace.

    The trace has the entries of the earlier stages, with the entries that begin these stages.

    Raises:
        IndexError: the trace is in the last stage.
    """
    number = 1 + sum(text in _begins(task) for text in trace)
    return replace(task.stages[number], open=partial(_open_after, task=task, trace=trace))


def begin_after(task: Task, trace: Trace) -> str:
    """Return the entry that begins the next stage after a trace of a staged task."""
    return _begins(task)[sum(text in _begins(task) for text in trace)]


def ended(task: Task, trace: Trace) -> Trace:
    """Return a trace of a staged task without the last entries, if these only begin stages."""
    begins = _begins(task)
    while trace and trace[-1] in begins:
        trace = trace[:-1]
    return trace


def _begins(task: Task) -> tuple[str, ...]:
    return tuple(str(Action("begin", (stage.name,))) for stage in task.stages[1:])


def _open_after(program: Program, task: Task, trace: Trace) -> Session:
    key = program.key, pickle.dumps((task.open, trace))
    if _opened.key != key or _opened.session is None:
        opened = task.open(program)
        opened.replay((*trace, begin_after(task, trace)))
        assert isinstance(opened, StagedSession)
        _opened.key, _opened.session = key, opened
    return _opened.session.session.fork()
