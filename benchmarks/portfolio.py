"""Find the starting traces that every search of llvm_passes begins with (tasks/llvm_passes/starts.py).

    python benchmarks/portfolio.py collect --state portfolio.jsonl   # resumes; about 25 s a file
    python benchmarks/portfolio.py select --state portfolio.jsonl --size 12

`collect` searches files of the training split alone and keeps the best traces of each, one file a
line. `select` evaluates every collected trace on every file, for both objectives, and adds to the
portfolio, one by one, the trace that lowers the mean log cost of the best in the portfolio most.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.progress import track

from burnish import Budget, Limits, Program, load_task
from burnish.core.errors import CompilerCrash
from burnish.core.sandbox import Sandbox
from burnish.corpora import Unit, fetch, find_package, load_manifest, translation_units
from burnish.search import search
from burnish.tasks.llvm_passes import LANGUAGE

PACKAGES = ("pycryptodome", "pynacl", "argon2-cffi-bindings", "jq", "webrtcvad", "ecos", "box2d", "scs")
SIZES = (200, 4000)  # instructions
OBJECTIVES = ("text-bytes", "ir-instructions")
TASK = load_task("llvm_passes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["collect", "select"])
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--files", type=int, default=5, help="of each package")
    parser.add_argument("--budget", default="12s", help="for each file and objective")
    parser.add_argument("--size", type=int, default=12)
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    options = parser.parse_args()
    if options.step == "collect":
        collect(options)
    else:
        select(options)


def programs(sources: Path, files: int) -> Iterator[Program]:
    """Yield files of the training split, spread over each package."""
    training = {package.name for package in load_manifest() if package.split == "train"}
    assert training.issuperset(PACKAGES)
    for name in PACKAGES:
        package = find_package(name)
        units = [
            unit for unit in translation_units(fetch(package, sources), package) if isinstance(unit, Unit)
        ]
        order = np.random.default_rng(0).permutation(len(units))
        found = 0
        for i in order:
            program = Program(units[i].name, LANGUAGE, units[i].compile())
            with_code = Sandbox(TASK.open, program)
            size = with_code.measure("ir-instructions")
            with_code.shutdown()
            if SIZES[0] <= size <= SIZES[1]:
                yield program
                found += 1
            if found == files:
                break


def collect(options: argparse.Namespace) -> None:
    done = {json.loads(line)["program"] for line in read_lines(options.state)}
    for program in programs(options.sources, options.files):
        if program.name in done:
            continue
        traces = []
        for objective in OBJECTIVES:
            for method in ("genetic", "hill-climbing"):
                found = search(
                    TASK,
                    program,
                    method=method,
                    objective=objective,
                    budget=Budget.parse(options.budget),
                    workers=1,
                )
                traces.append(found.trace)
        with options.state.open("a") as state:
            state.write(json.dumps({"program": program.name, "traces": traces}) + "\n")
        print(program.name, *map(len, traces), flush=True)


def select(options: argparse.Namespace) -> None:
    rows = [json.loads(line) for line in read_lines(options.state)]
    traces = list(
        dict.fromkeys(
            tuple(trace) for row in rows for trace in row["traces"] if set(trace) <= set(TASK.actions)
        )
    )
    traces = [("clang<Oz>",), *[trace for trace in traces if trace != ("clang<Oz>",)]]
    wanted = {row["program"] for row in rows}
    files = [item for item in programs(options.sources, options.files) if item.name in wanted]
    costs = np.array([evaluate(program, traces) for program in track(files)])  # [files, traces, objectives]
    log = np.log(costs / costs[:, :1])
    chosen, best = [0], log[:, 0]
    while len(chosen) < options.size:
        gains = [np.minimum(best, log[:, i]).mean() for i in range(len(traces))]
        chosen.append(int(np.argmin(gains)))
        best = np.minimum(best, log[:, chosen[-1]])
    for i in chosen:
        print(json.dumps(traces[i]))
    print("geometric mean of -Oz / best, by objective:", np.exp(-best.mean(axis=0)).round(4).tolist())


def evaluate(program: Program, traces: list[tuple[str, ...]]) -> list[list[float]]:
    """Return the costs of a program after each trace, by objective; a crash costs infinitely much."""
    root = Sandbox(TASK.open, program, limits=Limits(deadline_seconds=20))
    rows = []
    for trace in traces:
        try:
            session = root.fork()
            session.replay(trace)
            rows.append([session.measure(objective) for objective in OBJECTIVES])
            session.close()
        except CompilerCrash:
            rows.append([math.inf] * len(OBJECTIVES))
    root.shutdown()
    return rows


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
