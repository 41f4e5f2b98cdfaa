"""A stage of a staged task as a separate task, which starts after a trace of the earlier stages."""

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
    """The session that a thread opened last, because a worker opens the same program many times."""

    key: tuple[str, bytes] | None = None
    session: StagedSession | None = None


_opened = _Opened()


def stage_after(task: Task, trace: Trace) -> Task:
    """Return the stage of a staged task that follows a trace, as a task that starts after the trace.

    Args:
        task: The staged task.
        trace: The entries of the earlier stages, with the entries that begin these stages.

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
