"""Orders of kinds by step, and exchanges level by level: the mask has them, wherever actions are chosen."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import factorial
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import IllegalAction, InputError, UnknownName
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import split_entry
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.training.configured import texts
from burnish.policies.choose import Floats, Mask, masked_log_softmax
from burnish.policies.guiding import guide_by
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.tasks.mlir_schedules import TASK, bindings
from burnish.tasks.mlir_schedules.order import UNRESTRICTED
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Worker
from tests.tasks.mlir_schedules.small import at, small
from tests.tasks.mlir_schedules.written import generic

pytestmark = pytest.mark.skipif(not bindings.version(), reason="MLIR's wheel is not installed")

M = "matmul#1"
STEPS = ("interchange", "not interchange next done", "not interchange", "vectorize next done")
ORDERED = TASK.configured({"order": ",".join(STEPS)})
LEVELS = TASK.configured({"interchange": "levels"})
KINDS = {text.partition("(")[0] for text in TASK.actions}


def kinds(session: Session, site: str = "") -> set[str]:
    return {session.actions[i].partition("(")[0] for i in np.flatnonzero(session.legal(site))}


def exchanges(session: Session) -> list[str]:
    legal = [session.actions[i] for i in np.flatnonzero(session.legal(session.sites()[-1]))]
    return [text for text in legal if text.startswith("interchange")]


def leaves(session: Any, order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the permutation after each sequence of exchanges, the empty one first."""
    yield order
    for text in exchanges(session):
        one, other = map(int, text[len("interchange(") : -1].split(", "))
        copy, moved = session.fork(), list(order)
        copy.apply(copy.index(text), copy.sites()[-1])
        moved[one], moved[other] = moved[other], moved[one]
        yield from leaves(copy, tuple(moved))


@pytest.mark.parametrize("name", ["matmul", "batched"])
def test_level_by_level_each_permutation_is_reached_by_one_sequence(name: str) -> None:
    session = LEVELS.open(small(name))
    count = len(session.ops.by_name[session.cursor].op.extents)  # type: ignore[attr-defined]
    found = list(leaves(session, tuple(range(count))))
    assert len(found) == len(set(found)) == factorial(count)


def test_an_exchange_moves_the_iterators_themselves() -> None:
    session = LEVELS.open(small("batched"))
    before = session.ops.by_name[session.cursor].op.extents  # type: ignore[attr-defined]
    session.replay(at("batch_matmul#1", "interchange(0, 3)", "interchange(1, 2)", "interchange(2, 3)"))
    after = session.ops.by_name[session.cursor].op.extents  # type: ignore[attr-defined]
    assert after == tuple(before[i] for i in (3, 2, 0, 1))
    assert exchanges(session) == []
    session.apply_entry("batch_matmul#1: tile(0, 2)")
    assert "interchange(0, 1)" in exchanges(session)  # another action in between: from the outermost again


def test_pairs_are_exchanged_at_will_by_default() -> None:
    session = TASK.open(small("matmul"))
    session.replay(at(M, "interchange(1, 2)", "interchange(1, 2)", "interchange(0, 1)"))
    with pytest.raises(IllegalAction):
        LEVELS.open(small("matmul")).replay(at(M, "interchange(1, 2)", "interchange(0, 1)"))


def test_iterators_beyond_the_eighth_become_one_of_the_first_eight() -> None:
    shape = (2, 1, 1, 2, 1, 1, 1, 1, 12)
    text = generic(shape, "%y = arith.addf %x, %x : f32")
    env = Env(TASK, Program("deep", TASK.language, text.encode()), limits=None)
    env.reset()
    env.session.replay(at("generic#0", "tile(0, 1)", "interchange(0, 8)", "tile(0, 4)"))
    site = env.session.ops.by_name["generic#0"]  # type: ignore[attr-defined]
    assert site.op.extents == (4, 1, 1, 2, 1, 1, 1, 1, 1)
    assert [loop.dimension for loop in site.loops] == [8, 0]
    assert env.observation_space.contains(env.observe("op"))
    assert env.session.measure("seconds") > 0  # after a comparison with NumPy


def test_a_step_is_a_run_of_actions_of_one_kind() -> None:
    session = ORDERED.open(small("matmul"))
    assert kinds(session) == {"interchange"}
    session.apply_entry(f"{M}: interchange(0, 2)")
    assert "interchange" in kinds(session) and "tile" in kinds(session)
    assert not {"next", "done"} & kinds(session)
    session.apply_entry(f"{M}: tile(0, 3)")
    assert {"tile", "next", "done"} <= kinds(session) and "interchange" not in kinds(session)
    session.apply_entry(f"{M}: tile(1, 4)")
    session.apply_entry(f"{M}: pack(1, 1)")
    assert kinds(session) <= {"pack", "vectorize", "next", "done"}
    session.apply_entry(f"{M}: vectorize")
    assert kinds(session) == {"next", "done"}  # the order is over
    assert kinds(session, M) == set()  # which moves no cursor


def test_each_op_begins_with_the_first_step_and_steps_without_a_legal_action_are_skipped() -> None:
    session = ORDERED.open(small("layer"))
    session.replay(at("generic#3", "interchange(0, 1)", "tile(0, 4)"))
    session.apply_entry("next")
    assert session.cursor == "generic#2" and kinds(session) == {"interchange"}  # type: ignore[attr-defined]
    assert "fill" in session.sites()[0]  # its iterators cannot be exchanged
    assert "tile" in kinds(session, session.sites()[0])
    only = TASK.configured({"order": "im2col"}).open(small("matmul"))
    assert kinds(only) == {"next", "done"}


def test_states_with_other_legal_actions_have_other_digests() -> None:
    same_module = (
        at(M, "interchange(0, 1)", "tile(0, 4)", "interchange(0, 1)"),
        at(M, "interchange(0, 1)", "interchange(0, 1)", "tile(1, 4)"),
    )
    for task, count in ((TASK, 1), (TASK.configured({"order": "any,any,any"}), 2)):
        digests = set()
        for trace in same_module:
            session = task.open(small("matmul"))
            session.replay(trace)
            assert session.fork().digest() == session.digest()
            digests.add(session.digest())
        assert len(digests) == count


def obeys(trace: Sequence[str]) -> bool:
    """Return whether the actions of each op are runs that fit the steps in order; steps may be skipped."""
    cursor: dict[str, list[str]] = {}
    for site, action in map(split_entry, trace):
        if site:
            cursor.setdefault(site, []).append(action.partition("(")[0])
    for actions in cursor.values():
        steps = iter(STEPS)
        for kind, _ in groupby(actions):
            if not any(kind in allowed(step) for step in steps):
                return False
    return True


def allowed(step: str) -> set[str]:
    first, *rest = step.split()
    return KINDS - set(rest) if first == "not" else {first, *rest}


def test_the_check_of_this_file_finds_disorder() -> None:
    assert obeys(at(M, "interchange(0, 1)", "tile(0, 4)", "tile(1, 4)", "vectorize"))
    assert not obeys(at(M, "tile(0, 4)", "interchange(0, 1)"))


def test_environments_play_in_order() -> None:
    env = Env(ORDERED, [small("matmul"), small("layer")], limits=None, dense=False)
    rng = np.random.default_rng(0)
    for _ in range(2):
        _, info = env.reset()
        for _ in range(12):
            _, _, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(info["mask"]))))
            if terminated or truncated:
                break
        assert obeys(env.trace) and len(env.trace) > 2


def test_vector_environments_play_in_order() -> None:
    envs = VectorEnv(lambda: Env(ORDERED, small("matmul")), 1)
    try:
        _, infos = envs.reset(seed=0)
        for mask in infos["mask"]:
            names = {TASK.actions[i].partition("(")[0] for i in np.flatnonzero(mask)}
            assert names == {"interchange"}
    finally:
        envs.close()


def test_searches_evaluate_what_is_in_order() -> None:
    seen: list[tuple[str, ...]] = []
    search(
        Problem(ORDERED, small("matmul")),
        Budget(evaluations=5, workers=1),
        method="random",
        seed=1,
        progress=lambda now: seen.append(now.latest.trace),
    )
    assert len(set(seen)) > 3 and all(map(obeys, seen))


@dataclass(frozen=True)
class Untaught:
    """A policy that finds some actions most probable, the earlier ones more."""

    actions: tuple[str, ...]
    card: dict[str, Any]

    def log_probs(self, observations: Sequence[Any], masks: Mask) -> Floats:
        logits = -np.arange(len(self.actions), dtype=np.float32)
        return masked_log_softmax(np.tile(logits, (len(masks), 1)), masks)

    def evaluate(self, observations: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        raise InputError("no critic")


ACTIONS = ("vectorize", "tile(0, 4)", "tile(1, 4)", "tile(2, 1)", "interchange(0, 1)", "next")


@pytest.mark.parametrize(
    ("task", "options", "expected"),
    [
        (TASK, {}, ["tile(0, 4)", "tile(1, 4)", "vectorize"]),
        (TASK, dict(ORDERED.options), ["interchange(0, 1)", "tile(0, 4)", "tile(1, 4)", "vectorize"]),
        (ORDERED, {}, ["interchange(0, 1)", "tile(0, 4)", "tile(1, 4)", "vectorize"]),
        (
            TASK.configured({"order": "tile"}),
            dict(ORDERED.options),
            ["tile(0, 4)", "tile(1, 4)", "tile(2, 1)"],
        ),
    ],
    ids=["as its card says", "its card's order", "the task's order", "the task's before the card's"],
)
def test_a_policy_acts_in_the_order_of_its_training(
    task: Task, options: dict[str, str], expected: list[str]
) -> None:
    card = {"task": TASK.id, "observation": "op", "max_steps": len(expected), "options": options}
    guide_for = guide_by(Untaught(ACTIONS, card), task)
    worker = Worker()
    try:
        session = Sandbox(task.open, small("matmul"), worker=worker)
        first = next(iter(guide_for(session).initial_traces))
        assert [split_entry(text)[1] for text in first] == expected
        session.replay(first)  # legal without the order, too
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"order": ""}, InputError, "order: step 1 is ''; expected kinds of actions"),
        ({"order": "tile,,next"}, InputError, "order: step 2 is ''"),
        ({"order": "tile,not"}, InputError, "order: step 2 is 'not'"),
        ({"order": "tile,tiles"}, UnknownName, "no kind of action in step 2 of the order named 'tiles'"),
        ({"order": "not " + " ".join(sorted(KINDS))}, InputError, "step 1 excludes every kind of action"),
        (
            {"interchange": "continuous"},
            UnknownName,
            "no value of interchange named 'continuous'; known: pairs",
        ),
    ],
)
def test_wrong_settings_say_what_was_expected(given: dict[str, str], kind: type, message: str) -> None:
    with pytest.raises(kind, match=message.replace("(", r"\(")):
        TASK.configured(given)


def test_settings_are_texts_and_make_the_task_again() -> None:
    given = texts({"order": [["interchange"], ["not", "tile", "next"], "any"], "interchange": "levels"})
    task = TASK.configured(given)
    assert task.options == {"order": "interchange,not tile next,any", "interchange": "levels"}
    assert TASK.configured(task.options).options == task.options
    assert TASK.configured({"interchange": "pairs"}).options == {}
    assert not UNRESTRICTED
    pickle.dumps(task.open)
