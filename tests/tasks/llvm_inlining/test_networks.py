"""The native core answers as numpy does, in the thread of the compile."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.core.answer import MakeAnswerer
from burnish.core.errors import InputError
from burnish.llvm.corpora.random_modules import random_module
from burnish.policies.answer import Answers, ByPython, answers_of
from burnish.policies.arrays import ArraysPolicy, Linear, load_arrays
from burnish.policies.choose import Floats
from burnish.policies.columns import with_columns
from burnish.policies.guiding import guide_by, rollout
from burnish.policies.native import native_network
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.inlined import other_answers
from burnish.tasks.llvm_inlining.networks import network_of
from burnish.tasks.llvm_inlining.observations import FEATURES
from burnish.tasks.llvm_inlining.session import open_inlining
from tests.conftest import OpenSandbox
from tests.sources import FILES, program
from tests.tasks.llvm_inlining.modules import LARGE, SMALL_1, SMALL_2, module
from tests.tasks.llvm_inlining.policies import SCALES, random_policy, random_rows, saved


def floats(*rows: object) -> Floats:
    return np.array(rows, dtype=np.float32)


def logits(policy: ArraysPolicy, rows: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Floats:
    return policy.head(policy.encoder(rows.astype(np.float32)))


@pytest.mark.parametrize(
    ("scale", "activation", "norm"), [*itertools.product(SCALES, ("relu", "tanh"), (False, True))]
)
def test_outputs_are_numpys(scale: str, activation: str, norm: bool) -> None:
    policy, rows = random_policy(1, scale, activation, norm=norm), random_rows(200)
    network = native_network(policy)
    assert (network.inputs, network.outputs) == (38, 2)
    expected = logits(policy, rows)
    scale_of = np.abs(expected).max()
    np.testing.assert_allclose(network.evaluate(rows), expected, atol=1e-5 * scale_of, rtol=1e-5)
    assert network.choose(rows).tolist() == expected.argmax(axis=1).tolist()


def test_a_network_by_hand() -> None:
    """Of features a, b: h = relu((a, b) - 1), outputs (h1 - h2, h2)."""
    given = _native.NetworkInput("none", floats(1, 1), floats(1, 2), None)
    first = (floats([1, 0], [0, 1]), floats(0, 0), None, None)
    last = (floats([1, 0], [-1, 1]), floats(0, 0.5), None, None)
    network = _native.Network(given, "relu", [first, last])
    rows = np.array([[4, 3], [0, 5], [1, -9]])
    assert network.evaluate(rows).tolist() == [[2, 1.5], [-2, 2.5], [0, 0.5]]
    assert network.choose(rows).tolist() == [0, 1, 1]
    shares = _native.NetworkInput("quantiles", floats(0), floats(10), floats([1, 5, 5, 9]))
    seen = _native.Network(shares, "relu", [(np.eye(4, dtype=np.float32), floats(0, 0, 0, 0), None, None)])
    assert seen.evaluate(np.array([[0], [1], [5], [40]])).tolist() == [
        [0, 0, 0, 0],
        [0.25, 0.0625, 0.5, float(np.float32(0.1))],
        [0.75, 0.5625, float(np.sqrt(np.float32(0.75))), 0.5],
        [1, 1, 1, 4],
    ]


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_that_python_gives_step_by_step(seed: int, tmp_path: Path) -> None:
    scale, activation = SCALES[seed % 3], ("relu", "tanh")[seed % 2]
    answers = answers_of(saved(random_policy(seed, scale, activation), tmp_path), TASK)
    asked, inlined = 0, 0
    for source in (*map(program, FILES), *map(random_module, range(5))):
        natively, slowly = open_inlining(source), open_inlining(source)
        trace = natively.answer(answers)
        assert trace == slowly.answer(ByPython(answers)) == tuple(natively.trace)
        assert natively.answers == slowly.answers
        assert natively.digest() == slowly.digest()
        assert natively.sites() == ()
        asked, inlined = asked + len(trace), inlined + sum(natively.answers.values())
    assert 0 < inlined < asked
    assert asked > 100


@pytest.mark.parametrize("seed", range(3))
def test_a_search_begins_with_all_that_a_policy_answers_otherwise_than_the_heuristic(seed: int) -> None:
    policy, source = random_policy(seed), program("classes.cpp")
    steps = guide_by(policy, TASK).steps(ACTIONS)
    trace = rollout(open_inlining(source), steps)
    session, again = open_inlining(source), open_inlining(source)
    session.answer(partial(Answers, steps))
    assert set(trace) == set(other_answers(session)) and len(trace) > 10
    again.replay(trace)
    assert again.digest() == session.digest()


def test_what_is_answered_stays_and_a_worker_answers_the_same(
    open_sandbox: OpenSandbox, tmp_path: Path
) -> None:
    answers = answers_of(saved(random_policy(0), tmp_path), TASK)
    source = program("classes.cpp")
    alone = open_inlining(source)
    third = alone.sites()[2]
    sessions = [open_inlining(source), open_inlining(source), open_sandbox(open_inlining, source)]
    makes: list[MakeAnswerer] = [answers, ByPython(answers), answers]
    for session, make in zip(sessions, makes, strict=True):
        session.apply(ACTIONS.index("inline"), third)
        session.apply(ACTIONS.index("leave"))  # the first, in the middle of a compile
        session.answer(make)
    traces = [tuple(session.trace) for session in sessions]
    assert traces[0] == traces[1] == traces[2]
    assert len(traces[0]) == len(set(traces[0]))
    again = open_inlining(source)
    again.replay(traces[0])
    assert {session.digest() for session in (*sessions, again)} == {sessions[0].digest()}


def test_features_go_by_name(tmp_path: Path) -> None:
    """A policy for 35 features in another order answers as that of 38 in which three count nothing."""
    names = tuple(reversed(FEATURES[3:]))
    small = random_policy(3, "quantiles", columns=names)
    wide = with_columns(small, FEATURES)
    assert isinstance(wide, ArraysPolicy)
    rows = random_rows(100)
    places = [FEATURES.index(name) for name in names]
    np.testing.assert_allclose(logits(wide, rows), logits(small, rows[:, places]), rtol=1e-4, atol=1e-5)
    answers = answers_of(saved(small, tmp_path), TASK)
    assert network_of(answers()) is not None
    session, other = open_inlining(program("classes.cpp")), open_inlining(program("classes.cpp"))
    assert session.answer(answers) == other.answer(ByPython(answers))
    with pytest.raises(InputError, match="takes 35 features, but 2 of them are missing: threshold, is_mul"):
        with_columns(small, [name for name in FEATURES if name not in ("threshold", "is_multiple_blocks")])


def test_what_the_network_says_is_kept_in_its_file(tmp_path: Path) -> None:
    policy = random_policy(5, "quantiles", "tanh", norm=True)
    again = load_arrays(saved(policy, tmp_path))
    assert again.encoder.activation == "tanh"
    assert (logits(again, random_rows(9)) == logits(policy, random_rows(9))).all()
    with pytest.raises(InputError, match="activation is 'gelu'; expected one of relu, tanh"):
        replace(policy.encoder, activation="gelu")


def nonsense(policy: ArraysPolicy, value: float) -> ArraysPolicy:
    """Return the policy with another bias."""
    bias = policy.head.bias.copy()
    bias[1] = value
    return replace(policy, head=Linear(policy.head.weight, bias))


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    answers = answers_of(saved(nonsense(random_policy(0), np.nan), tmp_path), TASK)
    with pytest.raises(InputError, match="weights that are no finite numbers"):
        open_inlining(module()).answer(answers)


def test_outputs_that_are_no_numbers_leave_the_call_as_they_do_in_python(tmp_path: Path) -> None:
    policy = random_policy(0, "none")
    huge = replace(policy, head=Linear(policy.head.weight * np.float32(3e38), policy.head.bias))
    rows = open_inlining(module()).compiled().rows[:, : len(FEATURES)]
    answers = answers_of(saved(huge, tmp_path), TASK)
    expected = tuple(f"{site}: leave" for site in (SMALL_1, LARGE, SMALL_2))
    with np.errstate(all="ignore"):
        assert not np.isfinite(logits(huge, rows)).any()
        assert open_inlining(module()).answer(ByPython(answers)) == expected
    assert open_inlining(module()).answer(answers) == expected


def test_shapes_that_do_not_fit_are_named() -> None:
    policy = random_policy(0, hidden=(4,))
    wrong = replace(policy, head=Linear(policy.head.weight[:2], policy.head.bias))
    with pytest.raises(InputError, match="shapes of the network's arrays do not fit"):
        native_network(wrong)
    with pytest.raises(ValueError, match="rows of 3 features, and the network takes 38"):
        native_network(policy).choose(np.zeros((1, 3), dtype=np.int64))
    inlining = _native.Inlining(open_inlining(module()).compiles.opened, "Oz", {})
    with pytest.raises(ValueError, match="a network of 35 features and 2 outputs; expected 38 and 2"):
        inlining.answer_by(native_network(random_policy(0, columns=FEATURES[3:])))


def test_policies_that_are_no_stack_are_left_to_python() -> None:
    factorised = replace(
        random_policy(0),
        kinds=random_policy(1).head,
        kind=np.array([0, 0]),
    )
    with pytest.raises(InputError, match="chooses an action in one step"):
        native_network(factorised)
    other = replace(random_policy(0), actions=("inline", "leave"))
    guide_for = guide_by(other, TASK)
    assert guide_for.policy.actions == ("inline", "leave")
