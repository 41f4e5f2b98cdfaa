"""An episode ends at the first state that fails its validation."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from burnish.core.validator import BEHAVIOUR
from burnish.envs.env import Env
from burnish.evaluation.validate import Scrutiny
from burnish.evaluation.validated_env import ValidateAfterEveryStep
from burnish.workers.worker import GIB, Limits
from tests.evaluation.broken_passes import broken_task, moods

LIMITS = Limits(deadline_seconds=10, memory_bytes=GIB)
pytestmark = pytest.mark.usefixtures("nothing_left")


def test_a_wrong_state_ends_the_episode(tmp_path: Path) -> None:
    task = broken_task("mode+1")
    inner = Env(task, moods(tmp_path), limits=LIMITS)
    with closing(ValidateAfterEveryStep(inner, scrutiny=Scrutiny(limits=LIMITS), failure_reward=-3)) as env:
        env.reset()
        _, _, terminated, _, info = env.step(task.actions.index("gvn"))
        assert (terminated, "error" in info) == (False, False)
        assert env.validate().compared
        _, reward, terminated, _, info = env.step(task.actions.index("mode+1"))
        assert (reward, terminated, info["failure"]) == (-3, True, BEHAVIOUR)
        assert "prints" in info["error"]
