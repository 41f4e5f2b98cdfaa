"""Demonstrations by a search that a policy guides, of objectives that are another number every time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash, InputError, UnknownName
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.envs.env import Env
from burnish.learning.agents.demonstrations import Demonstration, demonstrate
from burnish.learning.training import collect
from burnish.learning.training.algorithms import open_training
from burnish.learning.training.collect import shorten_noisy
from burnish.learning.training.config import Expert, config_of
from burnish.learning.training.expert import ExpertSetup, make_demonstrations, open_search
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK as COUNTING
from tests.core.counting_task import counters
from tests.core.splitting_task import SplittingSession, open_pieces, pieces

LOOPS = load_task("loop_nests")
WHOLE = ("1: split", "2: grow", "2: trim", "1.0: trim", "1.1: trim")


class NoisySession(SplittingSession):
    """Half of the measurements say more than the cost, up to twice as much."""

    noise: Iterator[float] = itertools.repeat(1.0)

    def cost(self, objective: str, site: str = "") -> float:
        return super().cost(objective, site) * next(NoisySession.noise)


def open_noisy(program: Program) -> NoisySession:
    session = NoisySession(program)
    session._reopen = partial(open_noisy, program)
    return session


def noise(seed: int) -> Iterator[float]:
    rng = np.random.default_rng(seed)
    while True:
        yield rng.uniform(1.0, 1.004) * (1 if rng.random() < 0.5 else rng.uniform(1, 2))


def test_a_trace_loses_what_it_does_not_need() -> None:
    shorter = ("1: split", "1.0: trim", "1.1: trim")
    assert shorten_noisy(open_pieces(pieces("6 3")), WHOLE, "area") == (shorter, 1 + 4 + 4 + 9)


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_cost_entries_that_are_needed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoisySession, "noise", noise(seed))
    trace, _ = shorten_noisy(open_noisy(pieces("6 3")), WHOLE, "area")
    session = open_pieces(pieces("6 3"))
    session.replay(trace)
    assert session.measure("area") == 1 + 4 + 4 + 9


def test_what_is_illegal_or_crashes_is_not_in_a_shorter_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    root = open_pieces(pieces("4"))
    trace, _ = shorten_noisy(root, ("1: burn", "1: split", "1: trim", "1.0: split"), "area")
    assert trace == ("1: split", "1.0: split")

    def crash(*_: Any, **__: Any) -> None:
        raise CompilerCrash("it does not end")

    monkeypatch.setattr(collect, "_cost_if_same", crash)
    assert shorten_noisy(root, ("1: split", "1.0: split"), "area")[0] == ("1: split", "1.0: split")


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ("gentic", "mine: expert.search: no search named 'gentic'; did you mean 'genetic'"),
        ("gentic@shipped", "mine: expert.search: no search named 'gentic@shipped'"),
        ("mixed@", "mine: expert.search: no policy named ''"),
        ("mixed@shiped", "mine: expert.search: no policy named 'shiped'; did you mean 'shipped'"),
        (
            "mixed@llvm_passes-text-bytes",
            "mine: expert.search: .*the policy was trained for llvm_passes.*, not for",
        ),
    ],
)
def test_an_expert_that_is_not_there_is_named_first(search: str, message: str) -> None:
    table = {
        "task": "loop_nests",
        "algorithm": {"name": "cloning"},
        "expert": {"search": search},
        "programs": {"use": "no-such-program"},  # which nobody comes to
        "run": {"iterations": 1},
    }
    with pytest.raises((UnknownName, InputError), match=message):
        open_training(config_of(table, "mine.toml"), Path("nowhere"), lambda text: None)


def test_idle_actions_that_are_not_there_are_named_first() -> None:
    table = {
        "task": "loop_nests",
        "algorithm": {"name": "cloning"},
        "expert": {"idle": ["dawn"]},
        "programs": {"use": "no-such-program"},
        "run": {"iterations": 1},
    }
    with pytest.raises(UnknownName, match=r"mine: expert\.idle: no action named 'dawn'; did you mean 'down'"):
        open_training(config_of(table, "mine.toml"), Path("nowhere"), lambda text: None)


def test_a_task_without_a_shipped_policy_says_so() -> None:
    with pytest.raises(InputError, match="no policy is shipped for total of counting-v4; leave @shipped out"):
        open_search(Expert(search="mixed@shipped"), COUNTING, "total")
    assert open_search(Expert(search="mixed@none"), COUNTING, "total") == ("mixed", None)
    assert open_search(Expert(search="random"), COUNTING, "total") == ("random", None)


def test_a_policy_guides_the_expert(tmp_path: Path) -> None:
    """One evaluation is the naive nest, the second the policy's first choice: vectors in blocks."""
    program = LOOPS.source().load("matmul:24x32x16").program
    expert = Expert(search="mixed@shipped", evaluations=2, idle=("down", "up"))
    setup = ExpertSetup(LOOPS, "seconds", expert, 0, 1, Limits())
    (shown,) = make_demonstrations(tmp_path / "found.jsonl", [program], setup, lambda text: None)
    assert any("vectorize" in entry for entry in shown.trace)
    env = Env(LOOPS, [program], sites=16, max_steps=len(shown.trace) + 3, limits=None)
    steps = demonstrate(env, shown)
    names = [env.actions[step.action % len(env.actions)] for step in steps]
    assert names[len(shown.trace) :] in (["down", "up", "down"], ["up", "down", "up"])


def test_idle_actions_end_where_none_is_legal() -> None:
    env = Env(COUNTING, [counters("a=2")], max_steps=5, limits=None)
    idle = Demonstration(counters("a=2"), ("halve", "subtract(1)"), 1.0, 3.0, idle=("add(1)",))
    assert len(demonstrate(env, idle)) == 2
