"""Evictions: what LLVM takes is in the rows, and a network answers as numpy says it should."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from burnish import _native
from burnish.core.errors import CompilerCrash
from burnish.llvm.corpora.kernels import load_kernel
from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, SLOTS
from burnish.tasks.llvm_codegen.session import CodegenOptions, CodegenSession, open_program
from tests.sources import program
from tests.tasks.llvm_codegen.modules import module

INPUTS = _native.eviction_input_names()


def sessions() -> list[CodegenSession]:
    sources = [module(), program("hash_table.c"), load_kernel("sha256", ["small"])]
    return [open_program(one, CodegenOptions(pipeline="O2")) for one in sources]


def network(weights: Mapping[str, float] | None = None, seed: int = 0) -> _native.EvictionNetwork:
    """Return a network whose score is a weighted sum of its inputs, or a perceptron with random weights."""
    scaled = _native.NetworkInput(
        "none" if weights else "log1p",
        np.zeros(len(INPUTS), dtype=np.float32),
        np.ones(len(INPUTS), dtype=np.float32),
        None,
    )
    layers = []
    if weights is None:
        rng = np.random.default_rng(seed)
        for shape in ((len(INPUTS), 16), (16, 1)):
            weight = rng.normal(size=shape).astype(np.float32)
            layers.append((weight, rng.normal(size=shape[1]).astype(np.float32), None, None))
    else:
        weight = np.zeros((len(INPUTS), 1), dtype=np.float32)
        for name, value in weights.items():
            weight[INPUTS.index(name)] = value
        layers.append((weight, np.zeros(1, dtype=np.float32), None, None))
    return _native.EvictionNetwork(_native.Network(scaled, "relu", layers))


def test_answering_with_llvms_slots_writes_llvms_object() -> None:
    asked = 0
    for session in sessions():
        log = session.evictions()
        assert log.rows.shape == (len(log), len(EVICTION_COLUMNS))
        assert (log.llvms >= 0).all()
        assert log.rows[np.arange(len(log)), log.llvms].all()  # the mask allows what LLVM takes
        assert (log.chosen == -1).all()
        slots = iter(log.llvms.tolist())

        def choose(function: str, row: object, slots: object = slots) -> int:
            return int(next(slots))  # type: ignore[call-overload]

        made = session.generate(choose)
        assert made.code == session.object_code()
        asked += len(log)
    assert asked > 100


def test_what_llvm_takes_is_not_always_the_same_kind_of_slot() -> None:
    llvms = np.concatenate([session.evictions().llvms for session in sessions()])
    assert 0 < (llvms == SLOTS - 1).sum() < len(llvms)
    assert len(set(llvms.tolist())) > 3


def test_a_network_sees_the_slot_the_live_range_and_where_it_is() -> None:
    """In the order of eviction_input_names; what is not a number is 0, and magnitudes end at a million."""
    row = np.zeros(len(EVICTION_COLUMNS), dtype=np.float32)
    row[[3, 5, 32]] = 1  # mask
    for slot, value in ((3, 2.0), (5, np.nan), (32, np.inf)):
        row[EVICTION_COLUMNS.index(f"liverange_size[{slot}]")] = value
    row[-1] = 0.25
    rows = row[None]
    allowed = [3, 5, 32]
    seen: dict[str, list[float]] = {
        "liverange_size": [2.0, 0.0, 1e6],
        "wanting_liverange_size": [1e6] * 3,
        "progress": [0.25] * 3,
        "place": [3 / 32, 5 / 32, 1],
        "is_wanting": [0.0, 0.0, 1.0],
        "is_llvms": [0.0, 1.0, 0.0],
    }
    for name, expected in seen.items():
        scores = network({name: 1.0}).scores(rows, np.array([5]))[0]
        np.testing.assert_allclose(scores[allowed], expected, rtol=1e-6, err_msg=name)
        assert np.isneginf(np.delete(scores, allowed)).all()


def test_a_network_answers_as_its_scores_say() -> None:
    session = sessions()[2]
    chooser = network(seed=1)
    log = session.evictions(chooser)
    assert len(log) > 20
    assert log.chosen.tolist() == chooser.scores(log.rows, log.llvms).argmax(axis=1).tolist()
    same = iter(log.chosen.tolist())
    assert session.generate(lambda function, row: next(same)).code == session.generate(chooser).code
    assert session.generate(chooser).code != session.object_code()


def test_a_network_that_follows_llvm_writes_llvms_object() -> None:
    for session in sessions():
        assert session.generate(network({"is_llvms": 1.0})).code == session.object_code()


def test_draws_follow_the_softmax_of_the_scores_and_are_the_same_for_a_seed() -> None:
    session = sessions()[2]
    chooser = network({"nr_defs_and_uses": 0.3})
    logs = [session.evictions(chooser, seed=seed) for seed in range(60)]
    again = session.evictions(chooser, seed=7)
    assert again.chosen.tolist() == logs[7].chosen.tolist()
    assert len({tuple(log.chosen.tolist()) for log in logs}) > 30
    rows, llvms = (np.concatenate([getattr(log, name) for log in logs]) for name in ("rows", "llvms"))
    scores = chooser.scores(rows, llvms).astype(np.float64)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chosen = np.eye(SLOTS)[np.concatenate([log.chosen for log in logs])]
    deviation = np.sqrt((chances * (1 - chances)).sum(axis=0))
    assert (np.abs((chosen - chances).sum(axis=0)) <= 4.5 * deviation + 1e-9).all()


def test_a_network_for_something_else_is_refused() -> None:
    scaled = _native.NetworkInput("none", np.zeros(3, np.float32), np.ones(3, np.float32), None)
    weight, bias = np.zeros((3, 1), np.float32), np.zeros(1, np.float32)
    with pytest.raises(
        _native.InputError, match=f"takes {len(INPUTS)} features and has 1 output, not 3 and 1"
    ):
        _native.EvictionNetwork(_native.Network(scaled, "relu", [(weight, bias, None, None)]))


def test_a_slot_that_is_not_allowed_is_refused() -> None:
    session = sessions()[2]
    with pytest.raises(CompilerCrash, match="chose slot 40"):
        session.generate(lambda function, row: 40)
