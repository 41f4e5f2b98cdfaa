"""Gain of a memory between builds: the same files again, then each with one more function.

    python benchmarks/builds.py --programs 40 --budget 20 [--output benchmarks/results/builds.json]

Programs of the test split are searched three times, with a memory file that starts empty (burnish optimize
--remember) and without. The geometric means of -Oz / found are printed, of `ir-instructions`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from burnish import Budget, Problem, Program, Strategy, load_program, load_task, optimize
from burnish.evaluation.cases import cases_of, sampled
from burnish.llvm.programs import link_programs

ADDED = """\
int added_by_benchmark(const int *values, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++)
    sum += values[i] * values[i];
  return sum;
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--budget", default="20", help="of each search: evaluations, or seconds")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    budget = Budget.parse(options.budget)
    programs = [
        case.load()
        for case in sampled(cases_of(["corpus:test"], load_task("llvm_passes")), options.programs, 0)
    ]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "added.c"
        source.write_text(ADDED)
        added = load_program(source)
        changed = [link_programs([program, added]) for program in programs]
        builds = {"first": programs, "again": programs, "one more function in each": changed}
        rows = {}
        for name, memory in (("with a memory", Path(folder) / "memory"), ("without", None)):
            for build, files in builds.items():
                rows[f"{build}, {name}"] = geometric_mean(files, budget, memory)
                print(f"{build + ', ' + name:45} {rows[f'{build}, {name}']:.4f}", flush=True)
    if options.output:
        made = {"programs": len(programs), "budget": options.budget, "-Oz / found": rows}
        options.output.write_text(json.dumps(made, indent=1) + "\n")


def geometric_mean(programs: list[Program], budget: Budget, memory: Path | None) -> float:
    """Search programs one after the other and return the geometric mean of -Oz / found."""
    task = load_task("llvm_passes")
    ratios = [
        optimize(
            Problem(task, program),
            replace(budget, workers=1),
            strategy=Strategy(memory=memory),
            baselines=["Oz"],
        ).ratio("Oz")
        for program in programs
    ]
    return float(np.exp(np.mean(np.log(ratios))))


if __name__ == "__main__":
    main()
