"""Comparison of eviction policies with LLVM's heuristic, on modules that the policies have not seen.

    python benchmarks/evictions.py POLICY.npz [...] --split test        spill cost, LLVM's own score
    python benchmarks/evictions.py POLICY.npz [...] --kernels           spills executed by runs of the kernels
    python benchmarks/evictions.py --search 100 --kernels --programs 20 what any policy could gain there

`--search N` looks for better decisions of each module by N compiles. Decisions that differ from LLVM's are
drawn, kept while they gain, and varied. Functions are allocated independently, so each keeps its own best.

For each policy: its cost relative to that of LLVM's heuristic, as the geometric mean over the modules with
evictions to decide, with the 95 % interval over resampled modules; and the ratio of the sums.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import BurnishError, CompilerCrash
from burnish.core.program import Program
from burnish.evaluation.intervals import bootstrap_interval
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import open_corpus
from burnish.tasks.llvm_codegen.evictions import SLOTS, EvictionPolicy
from burnish.tasks.llvm_codegen.policy.scorer import load_scorer
from burnish.tasks.llvm_codegen.session import CodegenOptions, CodegenSession, open_program

FEWEST, CONFIDENCE = 200, 0.95


def main() -> None:
    """Measure and print a line for each module, then a summary of each policy."""
    options = _parser().parse_args()
    scorers = {str(path): load_scorer(path) for path in options.policies}
    names = [*scorers, *([f"search, {options.search} compiles"] if options.search else [])]
    rows: list[dict[str, dict[str, float]]] = []
    decided = 0
    for program in _programs(options):
        try:
            session = open_program(program, CodegenOptions(pipeline=options.pipeline))
            decisions = len(session.evictions())
            if not decisions:
                continue
            measure = partial(_executed if options.kernels else _expected, session)
            row = {"LLVM": measure(None)} | {name: measure(scorer.native) for name, scorer in scorers.items()}
            if options.search:
                best = search(session, options.search, executed=options.kernels)
                row[names[-1]] = measure(best.replayed())
        except BurnishError as error:
            print(f"left out: {program.name}: {error}", file=sys.stderr)
            continue
        rows.append(row)
        decided += decisions
        print(json.dumps({"program": program.name, "decisions": decisions, **row}), flush=True)
    for measured in rows[0]["LLVM"] if rows else ():
        print(f"{measured}, {len(rows)} modules, {decided} decisions")
        for name in names:
            print(f"  {name}: {_summary([(row['LLVM'][measured], row[name][measured]) for row in rows])}")


def _expected(session: CodegenSession, evict: EvictionPolicy | None) -> dict[str, float]:
    return _sums((session.generate(evict) if evict else session.stock()).spill_costs)


def _sums(costs: Mapping[str, float]) -> dict[str, float]:
    return {"spill cost": max(1.0, sum(costs.values()))}


def _executed(session: CodegenSession, evict: EvictionPolicy | None) -> dict[str, float]:
    costs = session.executed_costs(evict)
    return {
        "executed spill cost": max(1.0, sum(costs.spill_costs.values())),
        "executed instructions": max(1.0, sum(costs.instructions.values())),
    }


Deviations = Mapping[int, float]
"""By the number of a decision within its function: which of the allowed slots, from [0, 1)."""


@dataclass(frozen=True)
class Decided:
    """Decisions of all functions that differ from LLVM's, as a policy of evictions for one compile."""

    deviations: Mapping[str, Deviations]
    asked: Counter[str] = field(default_factory=Counter)  # decisions so far, by function

    def __call__(self, function: str, row: NDArray[np.float32]) -> int | None:
        """Return the slot of a deviation, or None for LLVM's own."""
        number = self.asked[function]
        self.asked[function] += 1
        share = self.deviations.get(function, {}).get(number)
        if share is None:
            return None
        allowed = np.flatnonzero(row[:SLOTS])
        return int(allowed[int(share * len(allowed))])

    def replayed(self) -> Decided:
        """Return the same decisions for another compile."""
        return Decided(self.deviations)


def search(session: CodegenSession, compiles: int, *, executed: bool) -> Decided:
    """Return the decisions of the least spill cost, function by function."""

    def costs(evict: EvictionPolicy | None) -> Mapping[str, float]:
        if executed:
            return session.executed_costs(evict).spill_costs
        return (session.generate(evict) if evict else session.stock()).spill_costs

    rng = np.random.default_rng(0)
    counts = Counter(session.evictions().functions)
    least = dict(costs(None))
    best: dict[str, Deviations] = {name: {} for name in counts}
    for _ in range(compiles):
        tried = {name: _varied(best[name], count, rng) for name, count in counts.items()}
        with suppress(CompilerCrash):  # a slot that cannot be evicted
            found = costs(Decided(tried))
            for name in counts:
                if found.get(name, math.inf) <= least.get(name, math.inf):
                    least[name], best[name] = found[name], tried[name]
    return Decided(best)


def _varied(known: Deviations, count: int, rng: np.random.Generator) -> Deviations:
    """Return deviations of which some are dropped, with one to three new ones."""
    kept = {number: share for number, share in known.items() if rng.random() < 0.8}
    new = rng.integers(count, size=1 + int(rng.integers(3)))
    return kept | {int(number): float(rng.random()) for number in new}


def _summary(pairs: Sequence[tuple[float, float]]) -> str:
    logs = [math.log(cost / llvms) for llvms, cost in pairs]
    low, high = bootstrap_interval(logs, [(value, value) for value in logs], CONFIDENCE, seed=0)
    total = sum(cost for _, cost in pairs) / sum(llvms for llvms, _ in pairs)
    mean = math.fsum(logs) / len(logs)
    better, worse = sum(value < 0 for value in logs), sum(value > 0 for value in logs)
    percent = [f"{100 * (math.exp(value) - 1):+.2f} %" for value in (mean, low, high, math.log(total))]
    return f"{percent[0]} ({percent[1]} to {percent[2]}), total {percent[3]}, {better} better, {worse} worse"


def _programs(options: argparse.Namespace) -> Iterator[Program]:
    if options.kernels:
        yield from (load_kernel(name, ["small"]) for name in kernel_names()[: options.programs])
        return
    corpus = open_corpus(options.folder or default_folder()).split(options.split)
    fitting = corpus.where(lambda row: FEWEST <= row.instructions <= options.most).shuffled(0)
    yield from fitting[: options.programs]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policies", nargs="*", type=Path, help="of burnish train regalloc-eviction-*")
    parser.add_argument(
        "--search", type=int, default=0, metavar="COMPILES", help="of each module; default: none"
    )
    parser.add_argument("--kernels", action="store_true", help="the runnable suite, by what is executed")
    parser.add_argument("--folder", type=Path, help="the corpus; default: a cache")
    parser.add_argument("--split", default="test")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--most", type=int, default=6000, help="instructions of a program")
    parser.add_argument("--pipeline", default="O2")
    return parser


if __name__ == "__main__":
    main()
