"""A policy of evictions is the same in numpy and in the native core, and comes back from its file."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.toolchain import find_tool
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron, save_arrays
from burnish.policies.batches import Features
from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, SLOTS
from burnish.tasks.llvm_codegen.policy.c_header import c_header
from burnish.tasks.llvm_codegen.policy.scorer import ACTIONS, INPUTS, EvictionScorer, load_scorer, slot_inputs
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program


def scorer(seed: int, actions: tuple[str, ...] = ACTIONS, inputs: int = len(INPUTS)) -> EvictionScorer:
    rng = np.random.default_rng(seed)

    def layer(before: int, after: int) -> Linear:
        weight: NDArray[np.float32] = rng.normal(scale=0.25, size=(before, after)).astype(np.float32)
        bias: NDArray[np.float32] = rng.normal(size=after).astype(np.float32)
        return Linear(weight, bias)

    mean, deviation = rng.normal(size=inputs).astype(np.float32), np.full(inputs, 2, dtype=np.float32)
    encoder = Perceptron(True, mean, deviation, (layer(inputs, 12), layer(12, 8)))
    card = {"columns": list(INPUTS[:inputs])}
    return EvictionScorer(ArraysPolicy(actions, Features(()), encoder, layer(8, len(actions)), card=card))


def rows(count: int, seed: int) -> NDArray[np.float32]:
    """Return made-up decisions, with what is not a number and what is too large among the features."""
    rng = np.random.default_rng(seed)
    found = rng.normal(scale=100, size=(count, len(EVICTION_COLUMNS))).astype(np.float32)
    found[rng.random(found.shape) < 0.02] = np.nan
    found[rng.random(found.shape) < 0.02] = np.inf
    found[:, :SLOTS] = rng.random((count, SLOTS)) < 0.3
    found[:, SLOTS - 1] = 1
    return found


def test_numpy_and_the_native_core_score_alike() -> None:
    policy, table, llvms = scorer(0), rows(200, 0), np.arange(200) % SLOTS
    ours, native = policy.scores(table, llvms), policy.native.scores(table, llvms)
    assert np.isneginf(ours).tolist() == (table[:, :SLOTS] == 0).tolist()
    np.testing.assert_allclose(native, ours, rtol=1e-4, atol=1e-4)


def test_inputs_are_those_of_the_slots_that_are_allowed() -> None:
    table = rows(50, 1)
    inputs, decision, slot = slot_inputs(table, np.full(50, SLOTS - 1))
    assert inputs.shape == (int(table[:, :SLOTS].sum()), len(INPUTS))
    assert (table[decision, slot] == 1).all()
    assert np.isfinite(inputs).all()
    size = np.nan_to_num(table[:, [EVICTION_COLUMNS.index(f"liverange_size[{i}]") for i in range(SLOTS)]])
    expected = np.clip(size, -1e6, 1e6)
    np.testing.assert_array_equal(inputs[:, INPUTS.index("liverange_size")], expected[decision, slot])
    np.testing.assert_array_equal(inputs[:, INPUTS.index("wanting_liverange_size")], expected[decision, -1])


def test_a_policy_comes_back_from_its_file_and_chooses_the_same(tmp_path: Path) -> None:
    policy = scorer(2)
    save_arrays(policy.policy, tmp_path / "policy.npz")
    again = load_scorer(tmp_path / "policy.npz")
    session = open_program(load_kernel("sha256", ["small"]), CodegenOptions(pipeline="O2"))
    log = session.evictions(again.native)
    assert log.chosen.tolist() == policy.scores(log.rows, log.llvms).argmax(axis=1).tolist()
    assert len(set(log.chosen.tolist())) > 3


def test_a_policy_of_fewer_inputs_ignores_the_others() -> None:
    blind, table = scorer(1, inputs=len(INPUTS) - 1), rows(200, 0)
    assert (blind.sees_llvms, scorer(1).sees_llvms) == (False, True)
    found = [blind.scores(table, np.full(200, slot)) for slot in (0, 7)]
    np.testing.assert_array_equal(found[0], found[1])
    inputs, decision, slot = slot_inputs(table, np.zeros(200, dtype=np.int64))
    own = blind.policy.head(blind.policy.encoder(inputs[:, :-1]))[:, 0]
    np.testing.assert_allclose(found[0][decision, slot], own, rtol=1e-5, atol=1e-5)


def test_a_policy_for_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 actions on 42 features is not a policy of evictions"):
        scorer(0, actions=("inline", "leave"))
    with pytest.raises(InputError, match="1 actions on 7 features"):
        EvictionScorer(replace(scorer(0, inputs=7).policy, card={}))
    (tmp_path / "policy.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"policy\.npz: "):
        load_scorer(tmp_path / "policy.npz")


PROGRAM = """
#include "tiny.h"
#include <stdio.h>
int main(void) {
  struct { float row[661], llvms; } one;
  while (fread(&one, sizeof one, 1, stdin) == 1) {
    int slot = tiny_evict(one.row, (int)one.llvms);
    printf("%d %a\\n", slot, slot < 0 ? 0.0 : (double)tiny_score(one.row, slot, (int)one.llvms));
  }
  return 0;
}
"""


@pytest.mark.parametrize(("compiler", "inputs"), [("clang", len(INPUTS)), ("gcc", len(INPUTS) - 1)])
def test_the_c_header_chooses_what_the_policy_chooses_on_10_000_rows(
    compiler: str, inputs: int, tmp_path: Path
) -> None:
    policy = scorer(4, inputs=inputs)
    log = open_program(load_kernel("sha256", ["small"]), CodegenOptions(pipeline="O2")).evictions()
    table = np.concatenate([log.rows, rows(10_000 - len(log), 5)])
    llvms = np.concatenate([log.llvms, np.arange(10_000 - len(log)) % SLOTS])
    (tmp_path / "tiny.h").write_text(c_header(policy.policy, "tiny"))
    (tmp_path / "main.c").write_text(PROGRAM)
    tool = find_tool("clang") if compiler == "clang" else compiler
    words = [tool, "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "main.c", "-lm", "-o", "program"]
    subprocess.run(words, cwd=tmp_path, check=True)
    given = np.concatenate([table, llvms[:, None]], axis=1).astype(np.float32).tobytes()
    done = subprocess.run([tmp_path / "program"], input=given, capture_output=True, check=True)
    found = [line.split() for line in done.stdout.decode().splitlines()]
    chosen = np.array([int(slot) for slot, _ in found])
    native = policy.native.scores(table, llvms)
    assert chosen.tolist() == native.argmax(axis=1).tolist()
    scores = policy.scores(table, llvms)[np.arange(10_000), chosen]
    np.testing.assert_allclose([float.fromhex(score) for _, score in found], scores, rtol=1e-4, atol=1e-4)
    assert len({*chosen.tolist()}) == SLOTS
