"""Count the texts of the training split's graphs, build the vocabulary, and print the unknown shares.

    burnish corpus build
    python benchmarks/vocabulary.py [--output src/burnish/llvm/representations/data/vocabulary.json]

Passes create texts that no front end writes (vectors, intrinsics, odd widths). So every program is counted as
clang's front end leaves it. Programs of up to 10,000 instructions are counted again after one of PIPELINES,
in turn. A text is kept if it is in at least 8 of these modules. The graphs include type nodes. The shares of
unknown nodes and of unknown instructions in each split are printed.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.progress import track

from burnish import _native
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.representations.graph import KINDS
from burnish.llvm.representations.vocabulary import SIZE, Vocabulary, most_frequent

PIPELINES = (  # the level of the attributes, and the passes
    ("Oz", ["clang<Oz>"]),
    ("O3", ["clang<O3>"]),
    ("Oz", ["sroa", "early-cse", "simplifycfg", "instcombine<no-verify-fixpoint>", "gvn"]),
)
LARGEST = 10_000  # instructions of an optimized program
MODULES = 8  # least number of modules that contain a kept text


@dataclass
class Counts:
    """The numbers of occurrences of texts in a split's graphs."""

    nodes: Counter[str] = field(default_factory=Counter)
    instructions: Counter[str] = field(default_factory=Counter)
    modules: Counter[str] = field(default_factory=Counter)
    graphs: int = 0

    def add(self, module: _native.Module) -> None:
        """Count the texts of one more graph."""
        nodes, _, texts = module.program_graph(types=True)
        for counter, rows in (
            (self.nodes, nodes),
            (self.instructions, nodes[nodes[:, 0] == KINDS.index("instruction")]),
        ):
            for text, count in zip(
                texts, np.bincount(rows[:, 1], minlength=len(texts)).tolist(), strict=True
            ):
                counter[text] += count
        self.modules.update(texts)
        self.graphs += 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=default_folder())
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    corpus = open_corpus(options.corpus)
    splits = {name: count(corpus.split(name), name) for name in ("train", "val", "test")}
    vocabulary = from_counts(splits["train"], corpus.split("train").digest)
    print("| split | graphs | nodes | unknown nodes | unknown instructions |")
    print("|---|---|---|---|---|")
    for name, counts in splits.items():
        print(
            f"| {name} | {counts.graphs} | {counts.nodes.total()} | {unknown(vocabulary, counts.nodes):.3%} "
            f"| {unknown(vocabulary, counts.instructions):.3%} |"
        )
    print(f"\n{len(vocabulary)} texts of {len(splits['train'].nodes)}")
    assert len(vocabulary) <= SIZE
    if options.output:
        vocabulary.save(options.output)


def from_counts(train: Counts, digest: str) -> Vocabulary:
    """Return the texts that are in enough of the training split's modules, the most frequent first."""
    kept = {text: count for text, count in train.nodes.items() if train.modules[text] >= MODULES}
    origin = f"benchmarks/vocabulary.py, training split {digest}, LLVM {_native.llvm_version()}"
    return most_frequent(kept, at_least=1, origin=origin)


def states(corpus: Corpus) -> Iterator[_native.Module]:
    """Yield every program's module as it is, and the small ones optimized, by each of PIPELINES in turn."""
    for i, row in enumerate(corpus.programs):
        module = _native.Module(corpus.open(row).content)
        yield module
        if row.instructions <= LARGEST:
            level, passes = PIPELINES[i % len(PIPELINES)]
            module.set_level_attributes(level)
            for text in passes:
                module.run(text, level)
            yield module


def count(corpus: Corpus, name: str) -> Counts:
    """Count the texts of a split."""
    counts = Counts()
    total = len(corpus) + sum(row.instructions <= LARGEST for row in corpus.programs)
    for module in track(states(corpus), name, total, transient=True):
        counts.add(module)
    return counts


def unknown(vocabulary: Vocabulary, counts: Counter[str]) -> float:
    """Return the share of the counted texts that the vocabulary does not have."""
    known = set(vocabulary.texts)
    return sum(count for text, count in counts.items() if text not in known) / counts.total()


if __name__ == "__main__":
    main()
