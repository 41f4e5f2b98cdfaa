"""Training of seed vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from burnish import _native
from burnish.llvm.representations.ir2vec import save_seed_vectors
from burnish.llvm.representations.transe import TransEConfig, tail_ranks, train

BLOCK = b"""
define i1 @f(i32 %a, ptr %p) {
  %b = add i32 %a, 3
  %c = icmp slt i32 %b, %a
  br i1 %c, label %yes, label %no
yes:
  store i32 %b, ptr %p
  br label %no
no:
  ret i1 %c
}"""


def spelled() -> dict[tuple[str, int, str], int]:
    """Return the triplets of BLOCK by the entities' names."""
    names = [key for _, key in _native.ir2vec_entities()]
    rows = _native.Module(BLOCK).ir2vec_triplets().tolist()
    return {(names[head], relation, names[tail]): count for head, relation, tail, count in rows}


def test_triplets_of_a_block() -> None:
    """Relation 0 is the type, 1 the next instruction of the function (as in llvm-ir2vec), 2 an operand."""
    assert spelled() == {
        ("Add", 0, "IntegerTy"): 1,
        ("Add", 1, "ICmp"): 1,
        ("Add", 2, "Variable"): 1,
        ("Add", 3, "Constant"): 1,
        ("ICmp", 0, "IntegerTy"): 1,
        ("ICmp", 1, "CondBr"): 1,
        ("ICmp", 2, "Variable"): 1,
        ("ICmp", 3, "Variable"): 1,
        ("ICmp", 4, "ICMP_slt"): 1,
        ("CondBr", 0, "VoidTy"): 1,
        ("CondBr", 1, "Store"): 1,
        ("CondBr", 2, "Variable"): 1,
        ("CondBr", 3, "Variable"): 1,
        ("CondBr", 4, "Variable"): 1,
        ("Store", 0, "VoidTy"): 1,
        ("Store", 1, "UncondBr"): 1,
        ("Store", 2, "Variable"): 1,
        ("Store", 3, "Pointer"): 1,
        ("UncondBr", 0, "VoidTy"): 1,
        ("UncondBr", 1, "Ret"): 1,
        ("UncondBr", 2, "Variable"): 1,
        ("Ret", 0, "VoidTy"): 1,
        ("Ret", 2, "Variable"): 1,
    }


TRIPLETS = np.array([(i, 0, (i + 1) % 6, 1 + i) for i in range(6)] + [(i, 1, 6 + i % 2, 3) for i in range(6)])
QUICK = TransEConfig(dimension=16, steps=500)


def test_what_was_seen_is_near() -> None:
    """Six entities in a circle, of two kinds; the tenth is in no triplet."""
    vectors, relations = train(TRIPLETS, 10, QUICK)
    assert np.allclose(np.linalg.norm(vectors[:8], axis=1), 1)
    assert not vectors[8:].any()
    untrained, apart = train(TRIPLETS, 10, TransEConfig(dimension=16, steps=0))
    assert tail_ranks(TRIPLETS, vectors, relations).mean() < 1
    assert tail_ranks(TRIPLETS, untrained, apart).mean() > 2


def test_same_seed_same_file(tmp_path: Path) -> None:
    entities = [("Opcodes", f"E{i}") for i in range(10)]
    for name, seed in (("first", 0), ("second", 0), ("other", 1)):
        vectors, _ = train(TRIPLETS, 10, TransEConfig(dimension=16, steps=50, seed=seed))
        save_seed_vectors(tmp_path / name, entities, vectors)
    first, second, other = ((tmp_path / name).read_bytes() for name in ("first", "second", "other"))
    assert first == second != other
