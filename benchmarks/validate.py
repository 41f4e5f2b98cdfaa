"""Validation of random traces on the runnable suite: LLVM must preserve the programs' behaviour.

    python benchmarks/validate.py run [--traces 500] [--seed 0] [--out benchmarks/results/validate.jsonl]
    python benchmarks/validate.py run --of outline [--suite workloads]
    python benchmarks/validate.py control
    python benchmarks/validate.py table

`run` draws for each number a kernel (at its small input) or a workload, and a trace of 5 to 30 actions. A
quarter of the entries that can apply to a single function get a random function. With `--of`, a third of the
actions are of that pass, and a sixth are clang's own pipelines, which expose what the pass broke. Each trace
is validated as by `burnish validate`: replayed in two new processes, verified, built, run, compared with -O0.
Traces that break a program are reduced, and a folder with a reproducer is written beside the rows. Rows are
appended one by one; existing rows are not computed again. `control` does the same on every kernel with
`structurizecfg`, which is known to miscompile, in the middle of each trace.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from burnish import Limits, Program, load_task
from burnish.core.decoding import json_object
from burnish.core.errors import CompilerCrash, InputError
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.evaluation.validate import Scrutiny, Validation, validate
from burnish.files import LineFile, read_json_lines
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.corpora.workloads import load_workload, workload_names
from burnish.llvm.modules.passes import PASSES
from burnish.workers.sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.evaluation.broken_passes import broken_task

TASK = load_task("llvm_passes")
RESULTS = Path(__file__).parent / "results" / "validate.jsonl"
LIMITS = Limits(deadline_seconds=60)
SUITES: dict[str, tuple[Sequence[str], Callable[[str], Program]]] = {
    "kernels": (kernel_names(), load_kernel),
    "workloads": (workload_names(), load_workload),
}
SHORTEST, LONGEST = 5, 30
AT_A_FUNCTION = 0.25
CONTROL = "structurizecfg"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "control", "table"))
    parser.add_argument("--traces", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--suite", choices=tuple(SUITES), default="kernels")
    parser.add_argument("--of", default="", metavar="PASS,...")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--reduce-seconds", type=float, default=600)
    options = parser.parse_args()
    if not any(text.startswith(tuple(options.of.split(","))) for text in TASK.actions):
        parser.error(f"--of {options.of}: no action begins so: burnish tasks llvm_passes lists them")
    if not options.out:
        kind = [options.of, options.suite if options.suite != "kernels" else ""]
        options.out = RESULTS.with_stem("_".join([RESULTS.stem, *filter(None, kind)]))
    if options.what == "table":
        table(rows_of(options.out))
        return
    if options.what == "control":
        control(options.out.with_name("validate_control.jsonl"), options.reduce_seconds)
        return
    done = {row["number"] for row in rows_of(options.out) if row["seed"] == options.seed}
    missing = [number for number in range(options.traces) if number not in done]
    for number in track(missing, description="traces"):
        program, trace = draw(options.seed, number, options.suite, options.of)
        row = check(TASK, program, trace, options.out.parent / "reproducers", options.reduce_seconds)
        append(options.out, {"seed": options.seed, "number": number, **row})
    table(rows_of(options.out))


def draw(seed: int, number: int, suite: str, often: str) -> tuple[Program, Trace]:
    """Return the random program and trace of a number."""
    rng = np.random.default_rng([seed, number])
    names, load = SUITES[suite]
    program = load(names[int(rng.integers(len(names)))])
    functions = TASK.open(program).sites()
    at_function = {item.text for item in PASSES if item.function_pipeline is not None}
    trace = []
    for action in actions(rng, int(rng.integers(SHORTEST, LONGEST + 1)), often):
        site = WHOLE_PROGRAM
        if action in at_function and rng.random() < AT_A_FUNCTION:
            site = str(rng.choice(functions))
        trace.append(entry(action, site))
    return program, legal(program, tuple(trace))


def actions(rng: np.random.Generator, count: int, often: str) -> list[str]:
    """Return random actions; a third are of the passes in `often`, if any, and a sixth clang's pipelines."""
    if not often:
        return [TASK.actions[i] for i in rng.integers(len(TASK.actions), size=count)]
    begins = [tuple(often.split(",")), ("clang<",), ("",)]
    parts = [[text for text in TASK.actions if text.startswith(begin)] for begin in begins]
    return [str(rng.choice(parts[i])) for i in rng.choice(3, size=count, p=[1 / 3, 1 / 6, 1 / 2])]


def legal(program: Program, trace: Trace) -> Trace:
    """Return a trace without entries at functions that no longer exist then, as searches do."""
    session = Sandbox(TASK.open, program, limits=LIMITS)
    kept: list[str] = []
    try:
        for text in trace:
            try:
                session.replay([text])
            except InputError:
                continue
            kept.append(text)
    except CompilerCrash:  # the validation will report it
        return (*kept, text)
    finally:
        session.shutdown()
    return tuple(kept)


def check(
    task: Task, program: Program, trace: Trace, folder: Path, reduce_seconds: float
) -> dict[str, object]:
    """Validate one trace and return its row."""
    start = time.monotonic()
    scrutiny = Scrutiny(reduce_seconds=reduce_seconds, limits=LIMITS)
    found = validate(task, program, trace, scrutiny=scrutiny)
    row: dict[str, object] = {
        "program": program.name,
        "trace": trace,
        "right": found.failure is None,
        "seconds": round(time.monotonic() - start, 2),
        "checks": found.checks,
    }
    return row | broken(program, found, folder) if found.failure else row


def broken(program: Program, found: Validation, folder: Path) -> dict[str, object]:
    """Return a row's entries for a failure, and write its reproducer."""
    assert found.failure
    row: dict[str, object] = {"kind": found.failure.kind, "failure": str(found.failure)}
    if found.reduced:
        row |= {
            "reduced": found.reduced.trace,
            "tests": found.reduced.tests,
            "minimal": found.reduced.minimal,
        }
    if found.reproducer:
        name = f"{program.name.partition(':')[2]}-{abs(hash_of(row)):08x}"
        found.reproducer.write(folder / name)
        row |= {"command": found.reproducer.command, "functions": found.reproducer.sites, "folder": name}
    return row


def hash_of(row: dict[str, object]) -> int:
    """Return a number that depends on the reduced trace only."""
    return int(Program("", "trace", json.dumps(row["reduced"]).encode()).digest[:8], 16)


def control(out: Path, reduce_seconds: float) -> None:
    """Validate random traces that contain a pass that miscompiles, on all kernels."""
    task = broken_task(CONTROL)
    done = {row["program"] for row in rows_of(out)}
    for number, name in enumerate(track(kernel_names(), description="control")):
        if f"kernels:{name}" in done:
            continue
        rng = np.random.default_rng([number])
        chosen = [TASK.actions[i] for i in rng.integers(len(TASK.actions), size=4)]
        trace = (*chosen[:2], CONTROL, *chosen[2:])
        row = check(task, load_kernel(name), trace, out.parent / "reproducers_control", reduce_seconds)
        append(out, {"seed": 0, "number": number, **row})
    table(rows_of(out))


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, without a last line that a kill cut off."""
    return read_json_lines(path, json_object, appended=True)


def append(path: Path, row: dict[str, object]) -> None:
    """Append a row to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(LineFile(path, keep=True)) as file:
        file.append(json.dumps(row))


def table(rows: list[dict[str, Any]]) -> None:
    """Print the failures by kind and by the last pass of their reduced traces, then each failure."""
    steps = sum(len(row["trace"]) for row in rows)
    kernels = len({row["program"] for row in rows})
    wrong = [row for row in rows if not row["right"]]
    print(f"{len(rows)} traces, {steps} actions, {kernels} programs: {len(wrong)} wrong")
    for kind, count in Counter(row["kind"] for row in wrong).most_common():
        print(f"  {kind}: {count}")
    for text, count in Counter(last for row in wrong for last in row.get("reduced", ())[-1:]).most_common():
        print(f"  {count:3} end in {text}")
    for row in wrong:
        print(f"{row['program']}: {row['failure'][:160]}\n    {' → '.join(row.get('reduced', row['trace']))}")
        print(f"    {row.get('command') or 'not shown by the installed tools'}  {row.get('functions', '')}")


if __name__ == "__main__":
    main()
