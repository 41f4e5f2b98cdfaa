"""Searches for inlining answers at equal time: C and C++ files of the test split, one worker each, in turn.

burnish corpus build --split test
python benchmarks/inlining_searches.py
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kit.kept import keep, show

from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import open_corpus
from burnish.search import Budget, search
from burnish.search.problem import Problem

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results" / "inlining_searches"
METHODS = ("coordinate", "genetic", "hill-climbing", "greedy")
QUESTIONS = 20  # least number in a file; files with fewer are too easy
TASK = load_task("llvm_inlining")


def chosen(folder: Path, count: int) -> list[Program]:
    """Return `count` C++ files and `count` C files, evenly over sizes."""
    sample = open_corpus(folder).split("test").sample(60, seed=5, smallest=600, largest=9000, even=True)
    found = []
    for of_c in (False, True):
        asking = (
            one
            for one in sample
            if one.name.endswith(".c") == of_c and len(TASK.open(one).sites()) >= QUESTIONS
        )
        found += [program for program, _ in zip(asking, range(count), strict=False)]
    return found


def measured(programs: Sequence[Program], seconds: float) -> Iterator[Row]:
    """Yield a row for each program and method."""
    for program in programs:
        base = TASK.open(program).measure("loaded-bytes")
        for method in METHODS:
            problem = Problem(TASK, program, "loaded-bytes")
            found = search(problem, Budget(seconds, workers=1), method=method)
            row = {"program": program.name, "method": method, "base": base, "cost": found.cost}
            yield row | {"evaluations": found.evaluations, "seconds": found.seconds}


def table(rows: Sequence[Row]) -> str:
    """Return the table of -Oz / found and evaluations by program, with geometric means and totals."""
    lines = [f"{'':28}" + "".join(f"{method:>18}" for method in METHODS)]
    cells = {(row["program"], row["method"]): row for row in rows}
    logs: dict[str, list[float]] = {method: [] for method in METHODS}
    sums = {method: [0.0, 0.0] for method in METHODS}
    for program in dict.fromkeys(str(row["program"]) for row in rows):
        line = f"{'/'.join(program.split('/')[-2:])[-27:]:28}"
        for method in METHODS:
            row = cells[program, method]
            base, cost = float(row["base"]), float(row["cost"])
            logs[method].append(math.log(base / cost))
            sums[method] = [sums[method][0] + base, sums[method][1] + cost]
            line += f"{base / cost:11.4f} ({row['evaluations']:>4})"
        lines.append(line)
    means = (math.exp(math.fsum(logs[method]) / len(logs[method])) for method in METHODS)
    lines.append(f"{'geometric mean':28}" + "".join(f"{mean:11.4f}{'':7}" for mean in means))
    totals = (sums[method][0] / sums[method][1] for method in METHODS)
    lines.append(f"{'total':28}" + "".join(f"{total:11.4f}{'':7}" for total in totals))
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Search, then write rows.jsonl and table.txt."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=default_folder(), help="the corpus")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--count", type=int, default=6, help="of C++ files, and of C files")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rows", type=Path, help="print the table of these rows instead")
    options = parser.parse_args()
    if options.rows:
        show(options.rows, table)
        return
    keep(measured(chosen(options.folder, options.count), options.seconds), options.out, table)


if __name__ == "__main__":
    main()
