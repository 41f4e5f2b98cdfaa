"""IR2Vec: sums made by hand, LLVM's own where they are defined alike, and what the vectors are for."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import InputError
from burnish.llvm.representations.ir2vec import (
    DIMENSION,
    SeedVectors,
    function_vectors,
    instruction_vectors,
    load_seed_vectors,
    program_vector,
    shipped_seed_vectors,
)
from burnish.llvm.toolchain import find_tool
from tests.sources import C_FILES, FILES, program

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def seed_vectors() -> SeedVectors:
    """Two numbers an entity, such that the sums below are round: weights are 1, 0.5 and 0.2."""
    return load_seed_vectors(DATA / "seed_vectors.json")


def instructions(text: str, seed_vectors: SeedVectors, *, flow_aware: bool) -> list[list[float]]:
    rows = instruction_vectors(
        _native.Module(text.encode()), flow_aware=flow_aware, seed_vectors=seed_vectors
    )
    rounded: list[list[float]] = np.round(rows.astype(np.float64), 4).tolist()
    return rounded


STRAIGHT = """
define i32 @f(i32 %a) {
  %b = mul i32 %a, 3
  %c = mul i32 %b, %b
  ret i32 %c
}"""


def test_symbolic_by_hand(seed_vectors: SeedVectors) -> None:
    assert instructions(STRAIGHT, seed_vectors, flow_aware=False) == [
        [1 + 0 + 1 + 2, 0 + 1 + 1 + 0],  # mul, integer, variable, constant
        [1 + 0 + 1 + 1, 0 + 1 + 1 + 1],
        [6 + 0 + 1, 0 + 2 + 1],
    ]


def test_flow_aware_by_hand(seed_vectors: SeedVectors) -> None:
    assert instructions(STRAIGHT, seed_vectors, flow_aware=True) == [
        [4, 2],
        [1 + 0.2 * (4 + 4), 1 + 0.2 * (2 + 2)],
        [6 + 0.2 * 2.6, 2 + 0.2 * 1.8],
    ]


def test_loads_see_stores(seed_vectors: SeedVectors) -> None:
    text = """
    define void @f(ptr %p, ptr %q, i1 %c) {
      store i32 1, ptr %p
      store i32 2, ptr %p
      %l = load i32, ptr %p
      %m = load i32, ptr %q
      br i1 %c, label %next, label %next
    next:
      %n = load i32, ptr %p
      ret void
    }"""
    stored = [3 + 2, 2 + 2]  # store, void, constant, pointer
    assert instructions(text, seed_vectors, flow_aware=True) == [
        stored,
        stored,
        [2 + 0.2 * stored[0], 1 + 0.2 * stored[1]],  # the last one in the block
        [2, 1 + 2],  # a pointer through which nothing was stored
        [7 + 3, 2 + 3],  # its three operands are variables: the condition and two blocks
        [2 + 0.2 * stored[0], 1 + 0.2 * stored[1]],  # the mean
        [6, 2],
    ]


def test_phi_is_one_of_its_operands(seed_vectors: SeedVectors) -> None:
    text = """
    define i32 @f(i32 %a) {
    entry:
      %c = icmp slt i32 %a, 0
      br i1 %c, label %loop, label %end
    loop:
      %i = phi i32 [ %a, %entry ], [ %j, %loop ]
      %j = mul i32 %i, %i
      %d = icmp slt i32 %j, 0
      br i1 %d, label %loop, label %end
    end:
      %r = phi i32 [ 7, %entry ], [ %j, %loop ]
      ret i32 %r
    }"""
    rows = instructions(text, seed_vectors, flow_aware=True)
    assert rows[0] == [5 + 1 + 2, 1 + 1 + 3]  # icmp, integer, variable and constant, the predicate
    assert rows[2] == [4 + 1, 1 + 1]  # both are variables as yet
    assert rows[3] == [1 + 0.4 * 5, 1 + 0.4 * 2]
    assert rows[6] == [4 + (2 + 0.2 * rows[3][0]) / 2, round(1 + (0 + 0.2 * rows[3][1]) / 2, 4)]


def test_unreachable_code_is_not_in_the_sum(seed_vectors: SeedVectors) -> None:
    text = "define void @f() {\n  ret void\ndead:\n  ret void\n}\ndefine void @g() {\n  ret void\n}"
    module = _native.Module(text.encode())
    assert instruction_vectors(module, seed_vectors=seed_vectors).tolist() == [[6, 2], [6, 2], [6, 2]]
    assert function_vectors(module, seed_vectors=seed_vectors).tolist() == [[6, 2], [6, 2]]
    assert program_vector(module, seed_vectors=seed_vectors).tolist() == [12, 4]


def printed_by_opt(path: Path, vocabulary: Path) -> dict[str, list[float]]:
    """Return LLVM's symbolic function vectors, which opt prints with two decimals."""
    options = ["-passes=print<ir2vec>", f"-ir2vec-vocab-path={vocabulary}", "-disable-output", str(path)]
    text = subprocess.run([find_tool("opt"), *options], capture_output=True, text=True, check=True).stderr
    found = re.findall(r"for function (\S+):\nFunction vector:\s+\[([^]]*)\]", text)
    return {name: [float(number) for number in vector.split()] for name, vector in found}


@pytest.mark.parametrize("name", FILES)
def test_symbolic_is_as_llvm_prints(name: str, seed_vectors: SeedVectors, tmp_path: Path) -> None:
    path = tmp_path / "module.bc"
    path.write_bytes(program(name).content)
    printed = printed_by_opt(path, DATA / "seed_vectors.json")
    rows = function_vectors(program(name), flow_aware=False, seed_vectors=seed_vectors)
    wanted = [printed[function] for function in _native.Module(program(name).content).functions]
    assert np.allclose(rows, wanted, rtol=1e-5, atol=0.006)


@pytest.mark.parametrize("name", FILES)
def test_program_is_the_sum_of_its_functions(name: str) -> None:
    module = _native.Module(program(name).content)
    functions, whole = function_vectors(module), program_vector(module)
    assert functions.shape == (len(module.functions), DIMENSION)
    assert whole.dtype == np.float32
    assert np.allclose(whole, functions.sum(axis=0), rtol=1e-4, atol=1e-4)
    rows = instruction_vectors(module)
    assert rows.shape == (module.instruction_count(), DIMENSION)


def test_long_chains_stay_small() -> None:
    lines = [f"%v{i + 1} = mul i32 %v{i}, %v{i}" for i in range(5000)]
    text = "\n".join(["define i32 @f(i32 %v0) {", *lines, "ret i32 %v5000", "}"])
    rows = instruction_vectors(_native.Module(text.encode()))
    assert np.abs(rows).max() < 10


def direction(name: str, level: str) -> NDArray[np.float32]:
    module = _native.Module(program(name).content)
    module.run(f"clang<{level}>", level)
    vector = program_vector(module)
    return vector / np.linalg.norm(vector)


def test_similar_programs_are_nearer() -> None:
    """A program at another level is nearer to itself than the others are, for most of them."""
    once = np.stack([direction(name, "O1") for name in C_FILES])
    again = np.stack([direction(name, "O2") for name in C_FILES])
    nearest = (once @ again.T).argmax(axis=1)
    assert (nearest == np.arange(len(C_FILES))).mean() >= 0.75


def test_floating_point_is_apart() -> None:
    """Two sums of integers are nearer to each other than to a sum of floats."""

    def vector(kind: str, operation: str) -> NDArray[np.float32]:
        text = f"define {kind} @f({kind} %a, {kind} %b) {{\n%c = {operation} {kind} %a, %b\nret {kind} %c\n}}"
        row = program_vector(_native.Module(text.encode()))
        return row / np.linalg.norm(row)

    add, subtract, floating = vector("i32", "add"), vector("i32", "sub"), vector("double", "fadd")
    assert add @ subtract > add @ floating


def test_shipped_vectors_have_the_dimension_that_is_declared() -> None:
    assert shipped_seed_vectors().dimension == DIMENSION


def test_seed_vectors_of_another_file_are_used(tmp_path: Path) -> None:
    entities = _native.ir2vec_entities()
    vectors = np.random.default_rng(0).normal(size=(len(entities), 3))
    sections: dict[str, dict[str, list[float]]] = {"Opcodes": {}, "Types": {}, "Arguments": {}}
    for (section, key), vector in zip(entities, vectors.tolist(), strict=True):
        sections[section][key] = vector
    assert [len(rows) for rows in sections.values()] == [69, 13, 30]
    (tmp_path / "own.json").write_text(json.dumps(sections))
    module = _native.Module(b"define void @f() {\n  ret void\n}")
    wanted = vectors[entities.index(("Opcodes", "Ret"))] + 0.5 * vectors[entities.index(("Types", "VoidTy"))]
    own = load_seed_vectors(tmp_path / "own.json")
    assert np.allclose(program_vector(module, seed_vectors=own), wanted)


@pytest.mark.parametrize("content", ["", "{}", '{"Opcodes": 3}', "not JSON"])
def test_what_are_no_seed_vectors_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InputError, match=r"bad\.json: not a file of seed vectors: .+"):
        load_seed_vectors(tmp_path / "bad.json")
    with pytest.raises(InputError, match=r"none\.json: not a file of seed vectors: .+"):
        load_seed_vectors(tmp_path / "none.json")
