"""IR2Vec: programs, functions and instructions as vectors (VenkataKeerthy et al. 2020, arXiv:1909.06228).

The vector of an instruction is

    [[l]] = 1.0 [[opcode]] + 0.5 [[type]] + 0.2 sum of [[operand]]

over seed vectors of LLVM's IR2Vec entities: opcodes, kinds of types, kinds of operands, and predicates as
one more operand of comparisons. Symbolic vectors are that, equal to LLVM's own. In flow-aware vectors (the
default) an operand that an instruction defines is that instruction's vector; a load's address is the last
store through it in its block, or else the mean of those before; a phi is the mean of its operands. What comes
around a loop counts by its kind.

LLVM's flow-aware vectors do without the weight of operands: they double with every operation and reach 3e37
in one function of BLAKE2. The paper solves its equations for values around loops; here one pass is made, in
linear time. A function's vector is the sum over the instructions that it can reach, a program's the sum over
its functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.llvm.representations.modules import module_of

DIMENSION: Final = 75  # of the shipped seed vectors
SHIPPED: Final = "seed_vectors.json"

SeedVectors = _native.SeedVectors
Vectors = NDArray[np.float32]


@cache
def shipped_seed_vectors() -> SeedVectors:
    """Return the vectors that come with burnish.

    They were trained by TransE (Bordes et al. 2013) on the training split of the public corpus, by
    benchmarks/embeddings.py of commit 7bab626.
    """
    with resources.as_file(resources.files("burnish.llvm.representations").joinpath("data", SHIPPED)) as path:
        return load_seed_vectors(path)


def load_seed_vectors(path: Path) -> SeedVectors:
    """Read LLVM's vocabulary file: JSON with Opcodes, Types and Arguments, each a vector by name.

    Raises:
        InputError: LLVM cannot read it.
    """
    try:
        return SeedVectors(str(path))
    except _native.InputError as error:
        raise InputError(f"{path}: no seed vectors: {error}") from None


def save_seed_vectors(path: Path, entities: Sequence[tuple[str, str]], vectors: NDArray[np.floating]) -> None:
    """Write vectors [entities, dimension] as LLVM's vocabulary file, rounded to four decimals."""
    sections: dict[str, dict[str, list[float]]] = {}
    for (section, key), vector in zip(entities, vectors.tolist(), strict=True):
        sections.setdefault(section, {})[key] = [round(value, 4) + 0.0 for value in vector]
    path.write_text("{\n" + ",\n".join(_section(name, rows) for name, rows in sections.items()) + "\n}\n")


def program_vector(
    program: Program | _native.Module, *, flow_aware: bool = True, seed_vectors: SeedVectors | None = None
) -> Vectors:
    """Return float32[dimension], the sum of the function vectors."""
    rows = function_vectors(program, flow_aware=flow_aware, seed_vectors=seed_vectors)
    total: Vectors = rows.sum(axis=0, dtype=np.float64).astype(np.float32)
    return total


def function_vectors(
    program: Program | _native.Module, *, flow_aware: bool = True, seed_vectors: SeedVectors | None = None
) -> Vectors:
    """Return float32[functions, dimension]: those with a body, in module order."""
    return (seed_vectors or shipped_seed_vectors()).functions(module_of(program), flow_aware)


def instruction_vectors(
    program: Program | _native.Module, *, flow_aware: bool = True, seed_vectors: SeedVectors | None = None
) -> Vectors:
    """Return float32[instructions, dimension], in module order, also those that cannot be reached."""
    return (seed_vectors or shipped_seed_vectors()).instructions(module_of(program), flow_aware)


def _section(name: str, rows: Mapping[str, Sequence[float]]) -> str:
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    return f"{json.dumps(name)}: {{\n{lines}\n}}"
