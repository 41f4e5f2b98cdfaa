"""Sites that come and go, and sessions that choose where they act."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM
from burnish.envs.env import Env
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, CountingSession, counters
from tests.core.splitting_task import TASK as SPLITTING
from tests.core.splitting_task import pieces


class CursorSession(CountingSession):
    """Acts at the largest counter, wherever it is told to."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._reopen = partial(CursorSession, program)

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        return super().apply(action, self.sites()[0])


CURSOR = replace(TASK, open=CursorSession)


def test_sites_that_are_born_take_the_places_of_those_that_are_gone() -> None:
    env = Env(SPLITTING, pieces("8"), limits=None, sites=3)
    env.reset(seed=0)
    n = len(SPLITTING.actions)
    grow, _, split, _ = range(n)
    assert np.flatnonzero(env.action_masks()).tolist() == [n + grow, n + split]
    env.step(n + split)  # 1: its place is its first half's, the other one's is behind it
    *_, info = env.step(n + split)
    assert env.trace == ("1: split", "1.0: split")
    assert np.flatnonzero(info["mask"]).tolist() == [
        at * n + action for at in (1, 2, 3) for action in (grow, split)
    ]  # 1.0.0, 1.1 and 1.0.1
    env.step(2 * n + split)
    assert env.trace[-1] == "1.1: split"


def test_trace_has_where_the_session_acted() -> None:
    for limits in (None, Limits()):
        env = Env(CURSOR, counters("a=4 b=8"), limits=limits, objective="total")
        env.reset(seed=0)
        env.step(0)
        env.step(0)
        assert env.trace == ("b: halve", "a: halve")
        twin = TASK.open(counters("a=4 b=8"))
        twin.replay(env.trace)
        assert twin.digest() == env.session.digest()
        env.close()
