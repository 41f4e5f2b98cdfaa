"""Sequence values: which order a program's neighbours advise."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.errors import InputError, UnknownName
from burnish.policies import find
from burnish.policies.sequence_values import SequenceValues, greedy_order, load_sequence_values
from burnish.tasks.llvm_passes import TASK
from tests.sources import program


def small() -> SequenceValues:
    """Two training programs, three sequences; the first feature says which of them a program resembles."""
    return SequenceValues(
        task=TASK.id,
        objective="ir-instructions",
        observations=("opcode-counts",),
        traces=(("gvn",), ("clang<Oz>",), ("clang<Oz>", "iroutliner")),
        tails=(("simplifycfg", "gvn"),),
        prior_actions=("gvn", "adce"),
        prior=np.full((3, 2), 0.5, dtype=np.float16),
        mean=np.zeros(2, dtype=np.float32),
        deviation=np.ones(2, dtype=np.float32),
        hidden=np.eye(2, dtype=np.float32),
        hidden_bias=np.zeros(2, dtype=np.float32),
        output=np.array([[4], [0]], dtype=np.float32),
        output_bias=np.zeros(1, dtype=np.float32),
        keys=np.array([[0], [4]], dtype=np.float32),
        gains=np.array([[0.1, 0, 0.3], [0.2, 0, -1]], dtype=np.float16),
        seconds=np.ones((2, 3), dtype=np.float16),
    )


def test_weights_are_the_softmax_of_distances() -> None:
    features = np.array([np.e - 1, 5], dtype=np.float32)  # log1p: 1; tanh(1) * 4 = 3.0464
    query = 4 * np.tanh(1.0)
    scores = np.exp([-(query**2), -((query - 4) ** 2)])
    assert small().weights(features) == pytest.approx(scores / scores.sum(), rel=1e-5)


def test_order_adds_most_first() -> None:
    gains = np.array([[0.1, 0.0, 0.3], [0.2, 0.0, -1.0]], dtype=np.float32)
    ones = np.ones_like(gains)
    half = np.array([0.5, 0.5], dtype=np.float32)
    # expected gains 0.15, 0, 0.15 (losses do not count): the first of the best; then 0.1 more by the third
    assert greedy_order(half, gains, ones) == [0, 2, 1]
    # near the first program, the third sequence first; the second program's is still worth a try
    assert greedy_order(np.array([0.9, 0.1], dtype=np.float32), gains, ones) == [2, 0, 1]
    # an expensive one waits
    seconds = np.array([[1, 1, 9], [1, 1, 9]], dtype=np.float32)
    assert greedy_order(np.array([0.9, 0.1], dtype=np.float32), gains, seconds) == [0, 2, 1]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_order_is_a_permutation_and_its_gain_per_second_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.normal(0, 0.1, size=(6, 5)).astype(np.float32)
    seconds = np.ones((6, 5), dtype=np.float32)
    weights = rng.dirichlet(np.ones(6)).astype(np.float32)
    order = greedy_order(weights, gains, seconds)
    assert sorted(order) == list(range(5))
    best, added = np.zeros(6, dtype=np.float32), []
    for i in order:
        added.append(float(weights @ np.maximum(gains[:, i] - best, 0)))
        best = np.maximum(best, gains[:, i])
    assert all(a >= b - 1e-6 for a, b in itertools.pairwise(added))  # submodular


def test_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    small().save(path)
    loaded = load_sequence_values(path)
    for name, value in vars(small()).items():
        if isinstance(value, np.ndarray):
            assert getattr(loaded, name).dtype == value.dtype
            np.testing.assert_array_equal(getattr(loaded, name), value)
        else:
            assert getattr(loaded, name) == value


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.npz"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="not a policy of sequence values"):
        load_sequence_values(path)
    np.savez(path, rest=np.frombuffer(b"{}", dtype=np.uint8))
    with pytest.raises(InputError, match="not a policy of sequence values"):
        load_sequence_values(path)


@pytest.mark.parametrize("name", find.shipped())
def test_shipped_policy_fits_its_task(name: str) -> None:
    task, _, objective = name.partition("-")
    path = find.shipped()[name]
    policy = load_sequence_values(path)
    assert (policy.task, policy.objective, task) == (TASK.id, objective, TASK.name)
    assert {action for trace in (*policy.traces, *policy.tails) for action in trace} <= set(TASK.actions)
    assert policy.traces and policy.gains.shape == policy.seconds.shape == (
        len(policy.keys),
        len(policy.traces),
    )
    assert path.stat().st_size < 5e6
    assert path.with_suffix(".card.json").is_file()
    guide = policy(TASK.open(program("dispatch.c")))
    assert sorted(guide.starts) == sorted(policy.traces)


def test_policies_are_found_by_name() -> None:
    assert find.find_adviser("none", TASK, "text-bytes") is None
    assert find.find_adviser("shipped", TASK, "seconds") is None  # nothing was trained for it
    found = find.find_adviser("shipped", TASK, "object-bytes")
    assert found and found[1] == "llvm_passes-text-bytes"
    with pytest.raises(UnknownName, match="policy"):
        find.find_adviser("shiped", TASK, "text-bytes")
