"""IR2Vec: programs, functions and instructions as vectors (VenkataKeerthy et al. 2020, arXiv:1909.06228).

The vector of an instruction is

    [[l]] = 1.0 [[opcode]] + 0.5 [[type]] + 0.2 sum of [[operand]]

over seed vectors of LLVM's IR2Vec entities: opcodes, kinds of types, kinds of operands, and predicates as
one more operand of comparisons. Symbolic vectors use this sum directly and equal LLVM's own. In flow-aware
vectors (the default), an operand is the vector of the instruction that defines it. For a load's address it
is the vector of the last store to that address in the same block. Without one in the block, it is the mean
of all earlier stores to it. A phi takes the mean of its operands. A value that comes around a loop counts as
its kind of operand.

LLVM's flow-aware vectors omit the operand weight, so they double with every operation and reach 3e37
in one function of BLAKE2. The paper solves its equations for values around loops; this code makes one pass,
in linear time. A function's vector is the sum over its reachable instructions. A program's vector is the sum
over its functions.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.llvm.representations.graph import module_of

DIMENSION: Final = 75  # of the shipped seed vectors
SHIPPED: Final = "seed_vectors.json"

SeedVectors = _native.SeedVectors
Vectors = NDArray[np.float32]


def shipped_vocabulary() -> Path:
    """Return the file of the seed vectors that come with burnish, which LLVM's options take, too."""
    return Path(__file__).parent / "data" / SHIPPED


@cache
def shipped_seed_vectors() -> SeedVectors:
    """Return the seed vectors that come with burnish.

    benchmarks/embeddings.py of commit 7bab626 trained them with TransE (Bordes et al. 2013) on the training
    split of the public corpus.
    """
    return load_seed_vectors(shipped_vocabulary())


def load_seed_vectors(path: Path) -> SeedVectors:
    """Read LLVM's vocabulary file: JSON with Opcodes, Types and Arguments, each mapping names to vectors."""
    try:
        return SeedVectors(str(path))
    except _native.InputError as error:
        raise InputError(f"{path}: not a file of seed vectors: {error}") from None


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
    """Return float32[functions, dimension]: the functions with a body, in module order."""
    return (seed_vectors or shipped_seed_vectors()).functions(module_of(program), flow_aware)


def instruction_vectors(
    program: Program | _native.Module, *, flow_aware: bool = True, seed_vectors: SeedVectors | None = None
) -> Vectors:
    """Return float32[instructions, dimension], in module order, unreachable instructions included."""
    return (seed_vectors or shipped_seed_vectors()).instructions(module_of(program), flow_aware)
