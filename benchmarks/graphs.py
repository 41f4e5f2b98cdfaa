"""Time and size of program graphs and vectors, from 1,000 to 250,000 instructions.

    burnish corpus build
    python benchmarks/graphs.py [--output benchmarks/results/graphs.json]

Modules of the corpus' training split, as clang's front end leaves them, are linked until there are enough
instructions. Modules that do not link because they define the same name are left out. Each figure is CPU
time, the least of several repetitions in one process.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from burnish import _native
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.representations.graph import block_graph, call_graph, program_graph, tokens
from burnish.llvm.representations.ir2vec import program_vector

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 250_000)
WAYS: dict[str, Callable[[_native.Module], object]] = {
    "programl": program_graph,
    "with types": lambda module: program_graph(module, types=True),
    "cfg": block_graph,
    "callgraph": call_graph,
    "tokens": tokens,
    "ir2vec": program_vector,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, default=default_folder())
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    corpus = open_corpus(options.corpus).split("train")
    rows = [measure(module_of_size(corpus, size), options.repetitions) for size in SIZES]
    print(f"| instructions | nodes | edges | {' | '.join(WAYS)} |   microseconds for 1,000 instructions")
    print("|---" * (3 + len(WAYS)) + "|")
    for row in rows:
        times = " | ".join(f"{row[name]:.0f}" for name in WAYS)
        print(f"| {row['instructions']:.0f} | {row['nodes']:.0f} | {row['edges']:.0f} | {times} |")
    if options.output:
        options.output.write_text(json.dumps(rows, indent=2) + "\n")


def module_of_size(corpus: Corpus, size: int) -> _native.Module:
    """Return a module of about `size` instructions, linked from several modules if one is too small."""
    wanted = min(size, 10_000)
    parts: list[_native.Module] = []
    whole: _native.Module | None = None
    for program in corpus.sample(1000, 0, smallest=wanted * 9 // 10, largest=wanted * 3):
        part = _native.Module(program.content)
        try:
            whole = _native.Module.link([*parts, part])
        except _native.InputError:
            continue
        parts.append(part)
        if whole.instruction_count() >= size * 9 // 10:
            break
    assert whole
    return whole


def measure(module: _native.Module, repetitions: int) -> dict[str, float]:
    """Return sizes, and the microseconds for 1,000 instructions of each way."""
    instructions = module.instruction_count()
    graph = program_graph(module)
    row: dict[str, float] = {
        "instructions": instructions,
        "nodes": len(graph.nodes),
        "edges": len(graph.edges),
    }
    for name, way in WAYS.items():
        seconds = []
        for _ in range(repetitions):
            start = time.process_time()
            way(module)
            seconds.append(time.process_time() - start)
        row[name] = round(1e9 * min(seconds) / instructions, 1)
    return row


if __name__ == "__main__":
    main()
