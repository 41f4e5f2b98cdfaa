"""Validation against values computed by hand, on the task without a compiler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import GraphInstance

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.walk import reached
from burnish.envs.env import Env
from burnish.envs.env_spaces import ActionSpace
from burnish.learning.training.validation import (
    SCORE,
    Greedy,
    Held,
    Played,
    hold_out,
    looks_same,
    measure,
    play_all,
)
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task

LIMITS = Limits(deadline_seconds=5)


class First:
    """Chooses the first legal action: halve where possible, else subtract(1)."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def act(self, observations: Sequence[Any], masks: Any, generator: Any = None) -> Any:
        assert generator is None
        self.batches.append(len(observations))
        return np.argmax(masks, axis=1)


class Last:
    """Chooses the last legal action: add(1)."""

    def act(self, observations: Sequence[Any], masks: Any, generator: Any = None) -> Any:
        return [len(masks[0]) - 1 - np.argmax(masks[0][::-1])]


def make(programs: Sequence[Program], **options: Any) -> Env:
    return Env(TASK, programs, observation="values", max_steps=4, limits=LIMITS, **options)


def held(*texts: str, objective: str = "total") -> list[Held]:
    return hold_out(TASK, [counters(text) for text in texts], objective, limits=LIMITS)[0]


@pytest.mark.usefixtures("nothing_left")
def test_references_are_measured_and_the_unusable_named() -> None:
    programs = [counters("a=4"), counters("nonsense"), counters("a=0"), counters("a=6 b=1")]
    found, left_out = hold_out(TASK, programs, "total", limits=LIMITS)
    assert [(item.program.name, item.start, item.reference) for item in found] == [
        ("a=4", 5, 2),
        ("a=6 b=1", 8, 5),
    ]
    assert left_out[0].startswith("nonsense: nonsense: expected counters")
    assert left_out[1] == "a=0: no action is legal"
    with pytest.raises(InputError, match=r"no validation program can be used: nonsense"):
        hold_out(TASK, programs[1:2], "total", limits=LIMITS)


def test_what_is_legal_is_looked_for_among_the_actions_that_can_be_chosen() -> None:
    programs = [counters("a=1"), counters("a=2")]
    found, left_out = hold_out(
        TASK, programs, "total", limits=LIMITS, actions=ActionSpace(TASK, ["halve"], 0)
    )
    assert [item.program.name for item in found] == ["a=2"]
    assert left_out == ["a=1: no action is legal"]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("environments", [1, 2, 3, 9])
def test_every_program_is_played_once_by_the_best_action(environments: int) -> None:
    """a=4: 5 3 2 1. a=5: 6 5 3 2 1. a=1: 2 1. a=7 b=2: 10 8(a=7 b=1) 6(a=6) 4(a=3) 3(a=2). a=2: 3 2 1."""
    actor = First()
    texts = ("a=4", "a=5", "a=1", "a=7 b=2", "a=2")
    played = play_all(actor, held(*texts), make, environments)
    assert [item.program for item in played] == list(texts)
    assert [item.best for item in played] == [1, 1, 1, 3, 1]
    assert [item.reference for item in played] == [2, 6, 2, 9, 2]
    for item in played:
        assert reached(TASK.open(counters(item.program)), item.trace).measure("total") == item.best
    assert set(actor.batches) == {1}  # what comes out does not depend on the others


def test_the_best_state_on_the_way_counts() -> None:
    (played,) = play_all(Last(), held("a=4"), make, 1)
    assert (played.best, played.last, played.ratio) == (5, 9, 2 / 5)
    assert played.trace == ()


def test_an_objective_of_the_end_is_measured_there() -> None:
    dense = partial(make, objective="largest")
    (played,) = play_all(First(), held("a=9", objective="largest"), dense, 1)
    assert (played.reference, played.best, played.last) == (10, 2, 2)  # 9 8 4 2 1, and 1 more


@pytest.mark.usefixtures("nothing_left")
def test_a_crash_counts_as_what_was_reached() -> None:
    """The last action kills the compiler, and is chosen at once."""
    task = failing_task(TASK, "be-killed")

    def failing(programs: Sequence[Program]) -> Env:
        return Env(task, programs, max_steps=4, limits=LIMITS)

    played = play_all(Last(), held("a=4", "a=5", "a=6"), failing, 2)
    assert [(item.best, item.last, item.crashed) for item in played] == [
        (5, 5, True),
        (6, 6, True),
        (7, 7, True),
    ]


def test_means_are_geometric_and_failures_count() -> None:
    metrics = measure(
        [Played("a", 4, 2, 2), Played("b", 2, 4, 8), Played("c", 3, 3, 3), Played("d", 2, 4, 4, crashed=True)]
    )
    assert metrics[SCORE] == pytest.approx(math.prod([2, 0.5, 1, 0.5]) ** (1 / 4))
    assert metrics["validation/last_ratio"] == pytest.approx(math.prod([2, 0.25, 1, 0.5]) ** (1 / 4))
    assert metrics["validation/total_ratio"] == pytest.approx(11 / 13)
    assert metrics["validation/better"] == 0.25
    assert metrics["validation/worse"] == 0.5
    assert metrics["validation/crashes"] == 1


class Ranked:
    """Chooses the first legal action of a list."""

    def __init__(self, *order: int) -> None:
        self.order = order

    def act(self, observations: Sequence[Any], masks: Any, generator: Any = None) -> Any:
        return [next(i for i in self.order if masks[0][i])]


def test_an_action_in_vain_is_not_taken_again_until_something_changes() -> None:
    greedy = Greedy(Ranked(2, 0, 1))
    all_legal, seen = np.ones(3, dtype=bool), [np.array([value]) for value in (5, 5, 5, 5, 4, 4)]
    assert [greedy.choose(item, all_legal) for item in seen] == [2, 0, 1, 2, 2, 0]


def test_another_question_may_look_the_same() -> None:
    greedy = Greedy(Ranked(2, 0, 1))
    legal, same = np.ones(3, dtype=bool), np.array([5])
    assert [greedy.choose(same, legal, question) for question in ("f #1", "f #2", "f #2", "")] == [2, 2, 0, 2]


def test_what_is_illegal_stays_illegal() -> None:
    greedy = Greedy(Ranked(2, 0, 1))
    mask = np.array([True, False, True])
    assert [greedy.choose(np.array([5]), mask) for _ in range(4)] == [2, 0, 2, 0]
    assert mask.tolist() == [True, False, True]


def test_history_alone_does_not_look_different() -> None:
    a, b = np.array([1]), np.array([2])
    assert looks_same({"autophase": a, "trace": a}, {"autophase": a, "trace": b})
    assert not looks_same({"autophase": a, "trace": a}, {"autophase": b, "trace": a})
    assert not looks_same({"trace": a}, {"trace": a})  # nothing else is seen: nobody knows
    assert looks_same("x", "x") and not looks_same(b"x", b"y")
    graph = GraphInstance(np.zeros((2, 1)), np.zeros((1, 2)), np.array([[0, 1]]))
    other = GraphInstance(np.zeros((2, 1)), np.zeros((1, 2)), np.array([[1, 0]]))
    assert looks_same(graph, graph) and not looks_same(graph, other)
    assert not looks_same(graph, GraphInstance(np.zeros((3, 1)), np.zeros((1, 2)), np.array([[0, 1]])))
