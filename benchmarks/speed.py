"""Run time of whole programs over clang -O3, on inputs that neither search nor profile saw.

    python benchmarks/speed.py [PATTERN ...] [--policy FILE] [--seconds 25] [--profile yes no]
                               [--ways level policy search] [--march native] [--rounds 7] [--out FOLDER]

Programs are kernels and workloads; by default the kernels from n to z, which sequence-values-seconds is not
trained on, and all workloads. Each one is optimized for its medium input, without a profile and with one
(`--profile`): by clang -O3 alone, by the policy's sequence of the largest expected gain, and by a search that
the policy guides (--ways). With --march, which is for kernels, clang takes it for each of them. The objects
are then compared with clang -O3's on the large input, in interleaved rounds of CPU times, and so are their
outputs. --out, by default benchmarks/results/speed, gets rows.jsonl, a row for each program and way, and
table.txt.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from kit.kept import keep

from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.walk import reached
from burnish.evaluation.intervals import bootstrap_interval
from burnish.evaluation.optimization import Strategy, optimize
from burnish.evaluation.timing import FASTER, SLOWER, Comparer, Effort
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.corpora.workloads import load_workload, workload_names
from burnish.llvm.modules.session import ModuleSession, open_baseline
from burnish.llvm.run import differences, run_all
from burnish.llvm.run.executable import link
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.running import PATIENT
from burnish.policies.find import NONE
from burnish.policies.sequence_values import load_for
from burnish.search import Budget
from burnish.search.problem import Problem

OBJECTIVE, LEVEL = "seconds", "O3"
SEEN, UNSEEN = "medium", "large"  # inputs: of the search and the profile, and of the comparison
HELD_OUT = ("kernels:[n-z]*", "workloads:*")
WAYS = ("level", "policy", "search")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Case:
    """A program with the input that it is optimized for, and with the one that it is measured on."""

    seen: Program
    unseen: Program


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", default=HELD_OUT, metavar="PATTERN")
    parser.add_argument("--policy", default=NONE, help="a file of sequence values")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seconds", type=float, default=25.0, help="of search")
    parser.add_argument("--method", default="mixed")
    parser.add_argument("--profile", nargs="+", choices=("no", "yes"), default=["no", "yes"])
    parser.add_argument("--march", default="", help="clang's -march, such as native, for kernels")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "speed")
    options = parser.parse_args()
    keep(rows(options), options.out, table)


def cases(patterns: Sequence[str], march: str) -> Iterator[Case]:
    """Yield the programs whose names match a pattern; with `march`, only kernels."""
    kernels = "kernels", kernel_names(), partial(load_kernel, march=march)
    suites = (kernels,) if march else (kernels, ("workloads", workload_names(), load_workload))
    for suite, names, load in suites:
        for name in names:
            if any(fnmatch(f"{suite}:{name}", pattern) for pattern in patterns):
                yield Case(*(load(f"{name}@{size}", level=LEVEL) for size in (SEEN, UNSEEN)))


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each program and way of making its object."""
    comparer = Comparer(Effort(repeats=options.rounds, confidence=CONFIDENCE))
    for case in cases(options.patterns, options.march):
        assert case.unseen.workload
        baseline = open_baseline(case.seen, LEVEL).object_code()
        for profile in (choice == "yes" for choice in options.profile):
            task = load_task("llvm_passes").configured({"profile": str(profile)}, OBJECTIVE)
            for way, trace in traces(task, case.seen, options):
                made = baseline if trace is None else object_after(task, case.seen, trace)
                same_output(baseline, made, case.unseen)
                found = comparer.compare(baseline, made, case.unseen.workload)
                row = {"program": case.seen.name, "way": way, "profile": profile, "march": options.march}
                figures = {"ratio": found.ratio, "low": found.low, "high": found.high}
                yield row | figures | {"verdict": found.verdict, "trace": trace}
                print(f"{case.seen.name} {way} {profile} {found.ratio:.3f} {found.verdict}", file=sys.stderr)


def traces(task: Task, program: Program, options: argparse.Namespace) -> Iterator[tuple[str, Trace | None]]:
    """Yield the ways of optimizing a program, with their traces; None: the search kept the baseline."""
    if "level" in options.ways and "profile" in task.options:  # else it is the baseline
        yield f"clang -{LEVEL}", (f"clang<{LEVEL}>",)
    if "policy" in options.ways and options.policy != NONE:
        yield "policy", load_for(Path(options.policy), task)(task.open(program)).choice
    if "search" in options.ways:
        strategy = Strategy(options.method, options.policy)
        budget = Budget(seconds=options.seconds)
        found = optimize(
            Problem(task, program, OBJECTIVE), budget, strategy=strategy, effort=Effort(repeats=7)
        )
        yield f"{options.seconds:g} s of search", None if found.fallback else found.trace


def object_after(task: Task, program: Program, trace: Trace) -> bytes:
    session = reached(task.open(program), trace)
    assert isinstance(session, ModuleSession)
    return session.object_code()


def same_output(first: bytes, second: bytes, program: Program) -> None:
    """Raise AssertionError if two objects' runs differ."""
    assert program.workload
    with temporary_folder() as folder:
        right, seen = (
            run_all(link(made, program.workload, folder / name), program.workload, limits=PATIENT)
            for name, made in (("first", first), ("second", second))
        )
    problems = differences(program.workload, seen, right)
    assert not problems, f"{program.name}: {problems[0]}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: -O3's time / the object's, geometric means over programs."""
    lines = ["| way | profile | -O3 / way | programs | faster, no difference, slower |", "|---" * 5 + "|"]
    for way, profile in dict.fromkeys((row["way"], row["profile"]) for row in rows):
        own = [row for row in rows if (row["way"], row["profile"]) == (way, profile)]
        logs = [math.log(row["ratio"]) for row in own]
        mean = math.exp(math.fsum(logs) / len(logs))
        ends = [(math.log(row["low"]), math.log(row["high"])) for row in own]
        low, high = map(math.exp, bootstrap_interval(logs, ends, CONFIDENCE, seed=0))
        better, worse = (sum(row["verdict"] == verdict for row in own) for verdict in (FASTER, SLOWER))
        counts = f"{better}, {len(own) - better - worse}, {worse}"
        used = "yes" if profile else "no"
        lines.append(f"| {way} | {used} | {mean:.3f} [{low:.3f}, {high:.3f}] | {len(own)} | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
