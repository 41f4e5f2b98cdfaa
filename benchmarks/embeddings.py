"""Train IR2Vec's seed vectors on the training split, and see what they are good for.

    burnish corpus build
    python benchmarks/embeddings.py --output src/burnish/llvm/representations/data/seed_vectors.json

Triplets are counted over every module of the training split as clang's front end leaves it and, up to 10,000
instructions, once more optimized (benchmarks/vocabulary.py), and vectors are trained on them by TransE
(burnish.llvm.representations.transe). Prints

- how many of the entities are nearer to head + relation than the triplet's own tail, over the triplets of
  each split (weighed by their count; 0 is perfect), and how many would be by chance;
- the nearest entities of a few;
- how often a function of the validation split at -O1 is nearest to itself at -Oz, among all functions of its
  program: by these vectors, by LLVM's sums without the flow, and by opcode counts.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from vocabulary import LARGEST, states  # beside this file

from burnish import _native
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.representations.ir2vec import (
    SeedVectors,
    function_vectors,
    load_seed_vectors,
    save_seed_vectors,
)
from burnish.llvm.representations.transe import TransEConfig, Triplets, tail_ranks, train

SHOWN = ("Add", "FMul", "Load", "SExt", "Call", "Ret", "ICMP_slt", "FCMP_oeq")
FUNCTION = 20  # instructions that a function has at least, to be told from others


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=default_folder())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    corpus = open_corpus(options.corpus)
    triplets = {name: count(corpus.split(name), name) for name in ("train", "val", "test")}
    entities = _native.ir2vec_entities()
    vectors, relations = train(triplets["train"], len(entities), TransEConfig(seed=options.seed))
    save_seed_vectors(options.output, entities, vectors)

    print(
        f"training split {corpus.split('train').digest}, LLVM {_native.llvm_version()}, seed {options.seed}\n"
    )
    print("| split | triplets | distinct | nearer than the tail | by chance |")
    print("|---|---|---|---|---|")
    for name, rows in triplets.items():
        known = rows[np.abs(vectors[rows[:, 0]]).sum(axis=1) * np.abs(vectors[rows[:, 2]]).sum(axis=1) > 0]
        rank = np.average(tail_ranks(known, vectors, relations), weights=known[:, 3])
        chance = ((np.abs(vectors).sum(axis=1) > 0).sum() - 1) / 2
        print(f"| {name} | {rows[:, 3].sum()} | {len(rows)} | {rank:.2f} | {chance:.1f} |")
    show_nearest([key for _, key in entities], vectors)
    show_recognised(corpus.split("val"), load_seed_vectors(options.output))


def count(corpus: Corpus, name: str) -> Triplets:
    """Return the distinct triplets of a split with their counts."""
    counts: Counter[tuple[int, int, int]] = Counter()
    total = len(corpus) + sum(row.instructions <= LARGEST for row in corpus.programs)
    for module in track(states(corpus), name, total, transient=True):
        for head, relation, tail, times in module.ir2vec_triplets().tolist():
            counts[head, relation, tail] += times
    return np.array([(*triplet, times) for triplet, times in sorted(counts.items())], dtype=np.int64)


def show_nearest(names: list[str], vectors: NDArray[np.float64]) -> None:
    """Print the entities nearest to some, by cosine."""
    print("\n| entity | nearest |\n|---|---|")
    similarity = vectors @ vectors.T
    for name in SHOWN:
        row = similarity[names.index(name)].copy()
        row[names.index(name)] = -1
        print(f"| {name} | {', '.join(names[i] for i in np.argsort(-row)[:4])} |")


def show_recognised(corpus: Corpus, seed_vectors: SeedVectors) -> None:
    """Print how often functions are nearest to themselves at another level, each way to look at them."""
    ways: dict[str, Callable[[_native.Module], NDArray[np.generic]]] = {
        "flow-aware": lambda module: function_vectors(module, seed_vectors=seed_vectors),
        "symbolic": lambda module: function_vectors(module, seed_vectors=seed_vectors, flow_aware=False),
        "opcode counts": lambda module: np.stack([module.opcode_counts(name) for name in module.functions]),
    }
    found, pairs, programs = dict.fromkeys(ways, 0), 0, 0
    for program in track(corpus.sample(60, 0, smallest=500, largest=LARGEST), "functions", transient=True):
        one, other = optimized(program.content, "O1"), optimized(program.content, "Oz")
        shared = sorted(large(one) & large(other))
        if len(shared) < 2:
            continue
        pairs += len(shared)
        programs += 1
        for name, way in ways.items():
            found[name] += hits(rows_of(one, way, shared), rows_of(other, way, shared))
    print(f"\n| of {pairs} functions of {programs} programs | recognised at another level |\n|---|---|")
    for name, times in {**found, "by chance": programs}.items():
        print(f"| {name} | {times / pairs:.1%} |")


def optimized(content: bytes, level: str) -> _native.Module:
    """Return a module after a level's pipeline."""
    module = _native.Module(content)
    module.set_level_attributes(level)
    module.run(f"clang<{level}>", level)
    return module


def large(module: _native.Module) -> set[str]:
    """Return the functions that can be told from others."""
    return {name for name, size in module.instruction_count_by_function() if size >= FUNCTION}


def rows_of(
    module: _native.Module, way: Callable[[_native.Module], NDArray[np.generic]], names: list[str]
) -> NDArray[np.float64]:
    """Return float64[names, columns]."""
    rows = dict(zip(module.functions, way(module), strict=True))
    return np.stack([rows[name] for name in names]).astype(np.float64)


def hits(one: NDArray[np.float64], other: NDArray[np.float64]) -> int:
    """Return how many rows are nearest to the row of the same number."""
    distance = np.linalg.norm(one[:, None] - other, axis=2)
    return int((distance.argmin(axis=1) == np.arange(len(one))).sum())


if __name__ == "__main__":
    main()
