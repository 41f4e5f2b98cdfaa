"""A stage of a staged task as a task of its own, behind a trace of the stages before."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from functools import partial

from burnish.core.action import Action
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.staged import StagedSession
from burnish.core.task import Task
from burnish.core.trace import Trace


class _Opened(threading.local):
    """What a thread opened last: a worker opens a program anew each time that it looks at it."""

    key: tuple[str, bytes] | None = None
    session: StagedSession | None = None


_opened = _Opened()


def stage_after(task: Task, trace: Trace) -> Task:
    """Return the stage of a staged task that follows on a trace, as a task that begins there.

    Args:
        task: The staged task.
        trace: Entries of the stages before, with what begins each of them.

    Raises:
        IndexError: the trace is in the last stage.
    """
    number = 1 + sum(text in _begins(task) for text in trace)
    return replace(task.stages[number], open=partial(_open_after, task=task, trace=trace))


def begin_after(task: Task, trace: Trace) -> str:
    """Return the entry that begins the stage that follows on a trace of a staged task."""
    return _begins(task)[sum(text in _begins(task) for text in trace)]


def ended(task: Task, trace: Trace) -> Trace:
    """Return a trace of a staged task without what begins the last of its stages, where nothing follows."""
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
