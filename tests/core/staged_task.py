"""Two tasks as one: an inliner that asks, then its functions' sizes as counters that are to become zero."""

from __future__ import annotations

from burnish.core.session import Session
from burnish.core.staged import Stage, staged
from tests.core import asking_task, counting_task
from tests.core.asking_task import AskingSession
from tests.core.counting_task import CountingSession, counters


def open_sizes(session: Session) -> CountingSession:
    """Go on with what is compiled: a counter for each function."""
    assert isinstance(session, AskingSession)
    return CountingSession(counters(session.digest()))


COUNTING = Stage(counting_task.TASK, open_sizes)
TASK = staged("asking_and_counting", asking_task.TASK, COUNTING)
