"""Comparison of eviction policies with LLVM's heuristic, on modules that the policies have not seen.

    python benchmarks/evictions.py POLICY.npz [...] --split test        spill cost, LLVM's own score
    python benchmarks/evictions.py POLICY.npz [...] --kernels           spills executed by runs of the kernels

For each policy: its cost relative to that of LLVM's heuristic, as the geometric mean over the modules with
evictions to decide, with the 95 % interval over resampled modules; and the ratio of the sums.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from burnish.core.errors import BurnishError
from burnish.core.program import Program
from burnish.evaluation.intervals import bootstrap_interval
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import open_corpus
from burnish.tasks.llvm_codegen.policy.scorer import EvictionScorer, load_scorer
from burnish.tasks.llvm_codegen.session import CodegenOptions, CodegenSession, open_program

FEWEST, CONFIDENCE = 200, 0.95


def main() -> None:
    """Measure and print a line for each module, then a summary of each policy."""
    options = _parser().parse_args()
    scorers = {str(path): load_scorer(path) for path in options.policies}
    rows: list[dict[str, dict[str, float]]] = []
    decided = 0
    for program in _programs(options):
        try:
            session = open_program(program, CodegenOptions(pipeline=options.pipeline))
            decisions = len(session.evictions())
            if not decisions:
                continue
            row = _executed(session, scorers) if options.kernels else _expected(session, scorers)
        except BurnishError as error:
            print(f"left out: {program.name}: {error}", file=sys.stderr)
            continue
        rows.append(row)
        decided += decisions
        print(json.dumps({"program": program.name, "decisions": decisions, **row}), flush=True)
    for measured in rows[0]["LLVM"] if rows else ():
        print(f"{measured}, {len(rows)} modules, {decided} decisions")
        for name in scorers:
            print(f"  {name}: {_summary([(row['LLVM'][measured], row[name][measured]) for row in rows])}")


def _expected(session: CodegenSession, scorers: Mapping[str, EvictionScorer]) -> dict[str, dict[str, float]]:
    found = {"LLVM": _sums(session.stock().spill_costs)}
    for name, scorer in scorers.items():
        found[name] = _sums(session.generate(scorer.native).spill_costs)
    return found


def _sums(costs: Mapping[str, float]) -> dict[str, float]:
    return {"spill cost": max(1.0, sum(costs.values()))}


def _executed(session: CodegenSession, scorers: Mapping[str, EvictionScorer]) -> dict[str, dict[str, float]]:
    found = {}
    for name, scorer in {"LLVM": None, **scorers}.items():
        costs = session.executed_costs(scorer.native if scorer else None)
        found[name] = {
            "executed spill cost": max(1.0, sum(costs.spill_costs.values())),
            "executed instructions": max(1.0, sum(costs.instructions.values())),
        }
    return found


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
        yield from (load_kernel(name, ["small"]) for name in kernel_names())
        return
    corpus = open_corpus(options.folder or default_folder()).split(options.split)
    fitting = corpus.where(lambda row: FEWEST <= row.instructions <= options.most).shuffled(0)
    yield from fitting[: options.programs]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policies", nargs="+", type=Path, help="of burnish train regalloc-eviction-*")
    parser.add_argument("--kernels", action="store_true", help="the runnable suite, by what is executed")
    parser.add_argument("--folder", type=Path, help="the corpus; default: a cache")
    parser.add_argument("--split", default="test")
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--most", type=int, default=6000, help="instructions of a program")
    parser.add_argument("--pipeline", default="O2")
    return parser


if __name__ == "__main__":
    main()
