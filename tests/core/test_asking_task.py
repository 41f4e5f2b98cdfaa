"""A compiler asks, and whoever is there answers; its heuristic answers the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.answer import Answerer
from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.session import make_start, make_step
from burnish.core.trace import WHOLE_PROGRAM, split_entry
from burnish.core.view import Mask, Observed, View
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.workers.worker import PendingCall
from tests.conformance import TaskConformance
from tests.conftest import OpenSandbox
from tests.core.asking_task import (
    ACTIONS,
    FOLD,
    INLINE,
    LEAVE,
    TASK,
    AskingSession,
    Never,
    calls,
    open_asking,
    optimum,
)
from tests.core.failures import fail

PROGRAM = calls("main 4: f f g; f 2: h; g 6: h; h 5:")
ASKED = (  # of the heuristic, which inlines f
    "main > f #1",
    "main > f #1 > h #1",
    "main > f #2",
    "main > f #2 > h #1",
    "main > g #1",
    "g > h #1",
)


class TestAsking(TaskConformance):
    tested = TASK
    examples = (PROGRAM, calls("main 3: a b a; a 2: b; b 4: a c; c 1: "))


def test_empty_trace_is_the_heuristic_and_not_the_best() -> None:
    """4 + 2 * (2 + 3) + 3 in main, 6 + 3 in g, 5 in h."""
    session = open_asking(PROGRAM)
    assert session.sites() == ASKED
    assert session.measure("size") == TASK.baseline("heuristic")(PROGRAM).measure("size") == 31
    assert TASK.baseline("never")(PROGRAM).measure("size") == 32
    assert optimum(PROGRAM) == 20


def test_an_action_on_the_whole_program_answers_what_is_asked() -> None:
    session = open_asking(PROGRAM)
    for site in ASKED:
        assert session.question() == session.observe("text") == site
        answer = INLINE if site.startswith("main > f") and site.endswith(("f #1", "f #2")) else LEAVE
        assert session.apply(answer)
        assert session.trace[-1] == f"{site}: {ACTIONS[answer]}"
    assert (session.question(), session.sites()) == ("", ())
    assert not session.legal().any()
    assert session.measure("size") == 31  # all is answered as the heuristic does


def test_questions_are_born_and_die_with_answers() -> None:
    session = open_asking(PROGRAM)
    assert session.apply(LEAVE)
    assert session.trace == ["main > f #1: leave"]
    assert session.sites() == ("main > f #2", "main > f #2 > h #1", "main > g #1", "f > h #1", "g > h #1")
    session.apply(INLINE, "main > g #1")  # before it is its turn
    assert session.question() == "main > f #2"
    assert session.sites()[2:] == ("main > g #1 > h #1", "f > h #1")
    with pytest.raises(IllegalAction, match="nothing is legal there"):
        session.apply(LEAVE, "g > h #1")  # g is not compiled any more
    with pytest.raises(IllegalAction, match="nothing is legal there"):
        session.apply(LEAVE, "main > g #1")  # it was answered
    with pytest.raises(IllegalAction, match="legal there: leave, inline"):
        session.apply(FOLD)


def test_an_answer_whose_question_is_gone_stays_in_the_trace_and_does_nothing() -> None:
    session, other = open_asking(PROGRAM), open_asking(PROGRAM)
    session.replay(["main > f #1 > h #1: fold", "main > f #1: leave"])
    other.replay(["main > f #1: leave"])
    assert (session.digest(), session.sites()) == (other.digest(), other.sites())
    assert session.fork().trace == ["main > f #1 > h #1: fold", "main > f #1: leave"]


@given(order=st.permutations(ASKED), answers=st.lists(st.sampled_from([LEAVE, INLINE]), min_size=6))
def test_the_order_of_answers_does_not_matter(order: list[str], answers: list[int]) -> None:
    """Nor where they are replayed; those whose question is gone by then were given before."""
    states = set()
    for sites in (order, ASKED[::-1]):
        session = open_asking(PROGRAM)
        for site in sites:
            if session.legal(site).any():
                session.apply(answers[ASKED.index(site)], site)
        again = open_asking(PROGRAM)
        again.replay(session.trace)
        assert (again.digest(), again.sites()) == (session.digest(), session.sites())
        for site in ASKED:  # those that were born for a while, too
            if session.legal(site).any():
                session.apply(answers[ASKED.index(site)], site)
        states.add(session.digest())
    assert len(states) == 1


def test_an_episode_is_as_long_as_the_program_has_questions() -> None:
    """And its reward comes at the end, where the objective is not dense."""
    for text, length in (("main 1: f; f 2:", 1), ("main 4: f f g; f 2: h; g 6: h; h 5:", 6)):
        env = Env(TASK, calls(text), limits=None)
        _, info = env.reset()
        rewards, questions = [], []
        while info["mask"].any():
            questions.append(info["question"])
            _, reward, terminated, truncated, info = env.step(int(np.flatnonzero(info["mask"])[-1]))
            rewards.append(reward)
        assert (terminated, truncated) == (True, False)
        assert [split_entry(text)[0] for text in env.trace] == questions
        assert len(rewards) == length
        assert not any(rewards[:-1])
        start = open_asking(calls(text)).measure("size")
        assert sum(rewards) == pytest.approx(math.log(start / env.cost))
        assert env.cost == optimum(calls(text))


def test_a_vector_of_environments_solves_it() -> None:
    programs = [PROGRAM, calls("main 1: f; f 9: g g; g 2:")]
    envs = VectorEnv(partial(Env, TASK, programs), 2, autoreset_mode="Disabled")
    envs.reset(seed=0)
    over, costs = np.zeros(2, dtype=bool), np.zeros(2)
    while not over.all():
        masks = envs.action_masks()
        for i in np.flatnonzero(~over):
            envs.send(int(i), int(np.flatnonzero(masks[i])[-1]))
        for number, (_, _, terminated, _, info) in envs.ready():
            over[number], costs[number] = terminated, info.get("cost", math.nan)
    assert costs.tolist() == [optimum(program) for program in programs] == [20, 10]
    envs.close()


class Unmeasured(AskingSession):
    """Cannot be measured."""

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        raise AssertionError("measured")


def test_a_session_begins_and_is_answered_without_a_measurement() -> None:
    session = Unmeasured(PROGRAM)
    start = make_start(session, View(("question",), site_count=2))
    assert math.isnan(start.cost)
    assert (start.question, start.sites) == (ASKED[0], (WHOLE_PROGRAM, *ASKED[:2]))
    assert make_step(session, LEAVE, WHOLE_PROGRAM, View(), start.sites).question == ASKED[2]
    assert len(session.answer(Never)) == 4


class Best:
    """Folds or inlines wherever it can."""

    observations = ("question", "text")

    def __call__(self, observed: tuple[Observed, ...], legal: Mask) -> int:
        return int(np.flatnonzero(legal)[-1])


@dataclass(frozen=True)
class Noting:
    """Makes a policy, and notes that in a file."""

    file: Path

    def __call__(self) -> Answerer:
        with self.file.open("a") as file:
            file.write("made\n")
        return Best()


class Dying(Best):
    """Dies of the third question."""

    def __call__(self, observed: tuple[Observed, ...], legal: Mask) -> int:
        if observed[1] == "main > f #2":
            fail("be-killed")
        return super().__call__(observed, legal)


def test_a_policy_answers_in_the_worker_and_is_made_there_once(
    open_sandbox: OpenSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_sandbox(open_asking, PROGRAM)
    forks = [session.fork() for _ in range(3)]
    sent: list[object] = []
    begin = session._worker.begin

    def note(*call: Any) -> PendingCall:
        sent.append(call)
        return begin(*call)

    monkeypatch.setattr(session._worker, "begin", note)
    for fork in forks:
        entries = fork.answer(Noting(tmp_path / "made"))
        assert entries == tuple(fork.trace) == open_asking(PROGRAM).answer(Best)
        assert len(entries) == 6
    assert len(sent) == len(forks)
    assert (tmp_path / "made").read_text() == "made\n"
    assert forks[0].measure("size") == optimum(PROGRAM)
    assert not forks[0].legal().any()
    assert forks[0].answer(Best) == ()


def test_answers_complete_what_was_answered(open_sandbox: OpenSandbox) -> None:
    session = open_sandbox(open_asking, PROGRAM)
    session.apply(LEAVE, "main > g #1")
    entries = session.answer(Best)
    assert session.trace == ["main > g #1: leave", *entries]
    assert session.measure("size") == 4 + 2 * (2 + 2) + 3 + 6 + 5 - 3 + 5 - 5 + 2 + 3 - 2


def test_a_compiler_that_dies_while_it_is_answered_is_as_before(open_sandbox: OpenSandbox) -> None:
    session = open_sandbox(open_asking, PROGRAM)
    session.apply(LEAVE)
    before = session.digest(), session.question(), list(session.trace)
    with pytest.raises(CompilerCrash, match="SIGKILL"):
        session.answer(Dying)
    assert (session.digest(), session.question(), session.trace) == before
    session.answer(Best)
    assert not session.question()
