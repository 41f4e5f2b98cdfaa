"""Gains of code-generation decisions: of each action, and of a search at every function.

    python benchmarks/codegen.py worth --split train     gain of each action: prior_gains.json
    python benchmarks/codegen.py gain --split test       110 code generations of each program, over clang -Oz
    python benchmarks/codegen.py gain --split test --passes 60      the same after a search for passes
    python benchmarks/codegen.py sets --files md4c.c      sets of decisions, one code generation each

The programs are files, or come from a corpus (`burnish corpus build`) and have up to --most instructions.
Sizes are of one object each: the bytes that a linked, stripped program loads, or its machine code
(--objective text-bytes).
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from function_variants import outside

from burnish.cc.short_search import code_of
from burnish.cc.variants import decisions_everywhere
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.programs import load_program
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.search.stages import stage_after
from burnish.tasks.llvm_codegen import TASK
from burnish.tasks.llvm_codegen.actions import ACTIONS, OUTLINE
from burnish.tasks.llvm_codegen.prior_gains import prior_gains
from burnish.tasks.llvm_passes import TASK as PASSES
from burnish.tasks.llvm_passes_and_codegen import TASK as STAGED

SETS: tuple[Trace, ...] = (
    ("flat(greedy)",),
    ("set(apply-ext-tsp-for-size)",),
    ("set(lsr-drop-solution)", "set(lsr-exp-narrow)"),
    ("set(aggressive-machine-cse)",),
    ("flat(greedy)", "set(apply-ext-tsp-for-size)", "set(lsr-drop-solution)", "set(lsr-exp-narrow)"),
    ("skip(early-machinelicm)", "flat(greedy)", "set(apply-ext-tsp-for-size)", "set(lsr-drop-solution)"),
)
FEWEST = 200  # instructions; smaller programs have little to gain


def main() -> None:
    """Measure and print."""
    options = _parser().parse_args()
    if options.what == "worth":
        json.dump(worth(_programs(options), options.objective), sys.stdout, indent=1)
        print()
    elif options.what == "sets":
        print(sets(_programs(options), options.objective))
    else:
        gain(_programs(options), options)


def worth(programs: Iterator[Program], objective: str) -> dict[str, float]:
    """Return each action's gain in per cent of a program's bytes, over the functions that gain.

    Bytes that LLVM's machine outliner moves out of functions are subtracted.
    """
    gains: dict[str, list[float]] = {text: [] for text in ACTIONS if text not in OUTLINE}
    for program in programs:
        root = TASK.open(program)
        root.replay(decisions_everywhere(code_of(root).opened.module))
        before, sites, legal = root.site_costs(objective), root.sites(), root.legal()
        for text, found in gains.items():
            if not legal[root.index(text)]:
                continue
            session = root.fork()
            session.apply(session.index(text))
            after = session.site_costs(objective)
            saved = sum(max(0.0, before.get(site, 0.0) - after.get(site, 0.0)) for site in sites)
            moved = outside(after, sites) - outside(before, sites)
            found.append(max(0.0, saved - max(0.0, moved)) / max(1.0, sum(before.values())))
        print(program.name, file=sys.stderr, flush=True)
    means = {text: 100 * sum(found) / max(1, len(found)) for text, found in gains.items()}
    return {text: round(mean, 3) for text, mean in means.items() if mean > 0}


def sets(programs: Iterator[Program], objective: str) -> str:
    """Return a table of SETS and of the shipped sets: at all functions, and only where a function gains."""
    shipped = prior_gains().suffixes
    names = [*SETS, *shipped]
    level, everywhere, own, best = 0.0, [0.0] * len(names), [0.0] * len(names), 0.0
    for program in programs:
        root = TASK.open(program)
        before, sites = root.site_costs(objective), root.sites()
        smallest = {site: before.get(site, 0.0) for site in sites}
        level += root.measure(objective)
        for number, decisions in enumerate(names):
            session = root.fork()
            session.replay(decisions)
            after = session.site_costs(objective)
            everywhere[number] += session.measure(objective) - root.measure(objective)
            own[number] += sum(min(0.0, after.get(site, 0.0) - before.get(site, 0.0)) for site in sites)
            smallest = {site: min(cost, after.get(site, cost)) for site, cost in smallest.items()}
        best += sum(cost - before.get(site, 0.0) for site, cost in smallest.items())
    lines = ["| decisions | at all functions | where a function gains |", "|---|---|---|"]
    for decisions, change, least in zip(SETS, everywhere, own, strict=False):
        shown = ", ".join(f"`{text}`" for text in decisions)
        lines.append(f"| {shown} | {change / level:+.2%} | {least / level:+.2%} |")
    lines.append(
        f"| the best of the {len(shipped)} shipped sets | {min(everywhere[len(SETS) :]) / level:+.2%} | |"
    )
    lines.append(f"| the best of all these for each function | | {best / level:+.2%} |")
    return "\n".join(lines).replace("%", " %")


def gain(programs: Iterator[Program], options: argparse.Namespace) -> None:
    """Print the gains of searches over their initial states."""
    ratios, before, after = [], 0.0, 0.0
    for program in programs:
        begin = time.monotonic()
        task = TASK
        if options.passes:
            found = search(Problem(PASSES, program, options.objective), Budget(evaluations=options.passes))
            task = stage_after(STAGED, found.trace)
        start = task.open(program).measure(options.objective)
        budget = Budget(evaluations=options.evaluations, workers=options.workers)
        result = search(Problem(task, program, options.objective), budget, seed=options.seed)
        ratios.append(result.cost / start)
        before, after = before + start, after + result.cost
        seconds = time.monotonic() - begin
        print(
            f"{program.name:50} {start:9.0f} {result.cost:9.0f} {_percent(ratios[-1])} {seconds:6.1f} s",
            flush=True,
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} programs: geometric mean {_percent(mean)}, total {_percent(after / before)}")


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+6.2f} %"


def _programs(options: argparse.Namespace) -> Iterator[Program]:
    if options.files:
        flags = shlex.split(options.flags)
        return (load_program(path, arguments=[*flags, f"-I{path.parent}"]) for path in options.files)
    corpus = open_corpus(options.folder or default_folder()).split(options.split)
    if options.names:
        ends = tuple(options.names.split(","))
        return iter(corpus.where(lambda row: row.name.endswith(ends)))
    fitting = corpus.where(lambda row: FEWEST <= row.instructions <= options.most).shuffled(0)
    return iter(fitting[: options.programs])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["worth", "gain", "sets"])
    parser.add_argument("--folder", type=Path, help="the corpus; default: a cache")
    parser.add_argument("--split", default="test")
    parser.add_argument("--files", type=Path, nargs="+", help="C or C++ files, instead of a corpus")
    parser.add_argument("--flags", default="", help="clang's options for --files")
    parser.add_argument("--names", help="ends of programs' names, instead of a number of programs")
    parser.add_argument("--objective", default="loaded-bytes")
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--most", type=int, default=8000, help="instructions of a program")
    parser.add_argument("--evaluations", type=int, default=110)
    parser.add_argument("--passes", type=int, default=0, help="evaluations of the search for passes before")
    parser.add_argument("--workers", type=int, help="processes; default: one for each core")
    parser.add_argument("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    main()
