"""Check that results stay the same when the code is rewritten: searches, policies, objects, schedules.

    python benchmarks/golden.py write [PART ...] [--file golden.json]
    python benchmarks/golden.py check [PART ...] [--file golden.json]

Parts: `searches` (every search on every task, 20 seeds), `policies` (the traces, suffixes and priors of the
shipped policies for the LLVM tasks), `objects` (of `burnish cc`, for three projects of the size benchmark),
`schedules` (the proposals of the shipped cost models for 40 loop nests and 40 linalg programs). `write`
stores digests of all results. `check` computes the results again and lists those that differ; exit code 1 if
there are any. Budgets are in evaluations. The cost of a tensor program is computed from the digest of its
state, because measured times would differ in every run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kit.programs import units_of
from rich.progress import track

from burnish import Budget, Problem, Program, Task, load_task
from burnish.core.objective import Objective
from burnish.core.registry import task_names
from burnish.core.session import Session
from burnish.core.task import Opener
from burnish.llvm.corpora import Unit
from burnish.policies.find import find_guide, shipped
from burnish.search import SEARCHES
from burnish.search.stages import search_stages

DATA = Path(__file__).parents[1] / "tests" / "data"
FILE = Path(__file__).parent / "results" / "golden.json"
SEEDS = range(20)
EVALUATIONS = 24  # of a search: enough to refine sites and to begin a second generation
GUIDED_EVALUATIONS = 30
PROPOSALS = 6  # of a policy for a program
PACKAGES = ("zopfli", "lz4", "cmarkgfm")
UNIT_BUDGET = "12 evaluations"
PROGRAMS = {
    "llvm_passes": "hash_table.c",
    "llvm_inlining": "classes.cpp",
    "llvm_codegen": "hash_table.c",
    "llvm_passes_and_codegen": "strings.c",
    "llvm_inlining_passes_and_codegen": "classes.cpp",
    "loop_nests": "matmul:64x96x80",
    "mlir_schedules": "matmul-bias-relu:64x96x80",
}
NESTS = {
    "matmul": 20,
    **dict.fromkeys(
        ("batched-matmul", "matmul-at", "conv1d", "conv2d", "depthwise", "stencil5", "stencil9"), 2
    ),
    **dict.fromkeys(("softmax", "relu-chain", "sum-rows", "sum-columns", "outer", "contraction-ab"), 1),
}
LINALG = {
    "matmul": 8,
    **dict.fromkeys(("conv2d", "maxpool", "add", "relu", "matmul-bias-relu", "batch-matmul"), 3),
    **dict.fromkeys(
        ("conv2d-nchw", "depthwise", "softmax", "layer-norm", "sum-rows", "transpose", "residual"), 2
    ),
}
Row = tuple[str, Callable[[], Any]]


def digest(value: object) -> str:
    """Return the beginning of the SHA-256 of a value's JSON."""
    return hashlib.sha256(json.dumps(value, default=repr).encode()).hexdigest()[:12]


def timeless(program: Program, opener: Opener) -> Session:
    """Open a program; the costs of its states are computed from their digests, not measured."""
    session = opener(program)
    kind: Any = type(session)
    kind.measure = lambda state, _: (
        1e-3 * (1 + int(hashlib.sha256(state.digest().encode()).hexdigest()[:8], 16) / 2**32)
    )
    return session


def task_of(name: str) -> Task:
    """Return a task; costs in seconds are replaced by costs without noise."""
    task = load_task(name)
    objective = task.objective()
    if not objective.noisy:
        return task
    quiet: dict[str, Objective] = {objective.name: replace(objective, noisy=False)}
    return replace(task, open=partial(timeless, opener=task.open), objectives=quiet)


def program_of(task: Task, name: str) -> Program:
    """Return a file of tests/data, or a program of a family."""
    return task.source().load(str(DATA / name) if "." in name else name).program


def searches() -> Iterator[Row]:
    """Yield every search on every task: the trace and the cost of each seed."""
    for name in task_names():
        if name not in PROGRAMS:
            continue
        task = task_of(name)
        program = program_of(task, PROGRAMS[name])
        for method in SEARCHES:
            yield f"{name} {method}", partial(_seeds, task, program, method, EVALUATIONS, SEEDS, guided=False)
        yield (
            f"{name} mixed@shipped",
            partial(_seeds, task, program, "mixed", GUIDED_EVALUATIONS, SEEDS[:5], guided=True),
        )


def _seeds(
    task: Task, program: Program, method: str, evaluations: int, seeds: range, *, guided: bool
) -> list[str]:
    found = []
    for seed in seeds:
        problem = Problem(task, program)

        def guide_of(part: Problem) -> Any:
            return (find_guide("shipped", part.task, part.goal.name) or (None,))[0] if guided else None

        budget = Budget(evaluations=evaluations, workers=1)
        result = search_stages(problem, budget, guide_of, method=method, seed=seed)
        found.append(digest([result.trace, result.cost, result.evaluations, result.illegal]))
    return found


def policies() -> Iterator[Row]:
    """Yield the guides of each shipped policy of the LLVM tasks for the files of tests/data."""
    for name, path in shipped().items():
        task_name, _, objective = name.partition("-")
        if task_name in ("loop_nests", "mlir_schedules"):
            continue
        task = load_task(task_name)
        for file in sorted(DATA.glob("*.c*")):
            if file.suffix in (".c", ".cpp"):
                yield f"{name} {file.name}", partial(_guide, task, str(path), str(file), objective)


def _guide(task: Task, policy: str, program: str, objective: str) -> str:
    session = task.open(task.source().load(program).program)
    found = find_guide(policy, task, objective)
    assert found
    guide = found[0](session)
    traces = proposals(guide.initial_traces)
    prior = guide.prior.probabilities.round(12).tolist() if guide.prior else None
    return digest([traces, guide.suffixes, prior])


def proposals(traces: Any) -> list[tuple[str, ...]]:
    """Return the first proposals of a guide; the cost that is sent for each depends on the trace alone."""
    found: list[tuple[str, ...]] = []
    cost = None
    for _ in range(PROPOSALS):
        try:
            found.append(traces.send(cost))
        except StopIteration:
            break
        cost = 1e-3 * (1 + int(digest(found[-1]), 16) / 16**12)
    return found


def objects() -> Iterator[Row]:
    """Yield the objects that `burnish cc` makes of projects' files, and their rows in its log."""
    folder = Path(tempfile.gettempdir()) / "burnish-sources"
    for unit in units_of(PACKAGES, folder):
        yield unit.name, partial(_object, unit)


def _object(unit: Unit) -> str:
    with tempfile.TemporaryDirectory() as name:
        made, log = Path(name) / "made.o", Path(name) / "log.jsonl"
        compiler = [str(Path(sys.executable).parent / "burnish"), "c++" if unit.language == "c++" else "cc"]
        options = [f"--budget={UNIT_BUDGET}", f"--report={log}", "--alone", "--"]
        of_clang = [*unit.arguments, "-Oz", "-c", str(unit.source), "-o", str(made)]
        subprocess.run([*compiler, *options, *of_clang], check=True)
        row = json.loads(log.read_text())
        content = hashlib.sha256(made.read_bytes()).hexdigest()
        return digest([content, *(row[key] for key in ("action", "reason", "trace", "evaluations"))])


def schedules() -> Iterator[Row]:
    """Yield the proposals of the shipped cost models for loop nests and linalg programs."""
    for task_name, families in (("loop_nests", NESTS), ("mlir_schedules", LINALG)):
        task = load_task(task_name)
        source = task.source()
        shipped_for = [path for name, path in shipped(task).items() if name.startswith(task_name)]
        for family, count in families.items():
            names = source.expand(f"{family}:test")
            for name in names[:: max(1, len(names) // count)][:count]:
                for path in shipped_for:
                    yield f"{path.stem} {name}", partial(_schedules, task, str(path), name)


def _schedules(task: Task, policy: str, name: str) -> str:
    found = find_guide(policy, task, task.objective().name)
    assert found
    session = task.open(task.source().load(name).program)
    return digest(proposals(found[0](session).initial_traces))


PARTS = {"searches": searches, "policies": policies, "objects": objects, "schedules": schedules}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("parts", nargs="*", metavar="PART", default=[])
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    known: dict[str, dict[str, Any]] = json.loads(options.file.read_text()) if options.file.exists() else {}
    differing = 0
    for part in options.parts or PARTS:
        found = _results(part)
        if options.action == "write":
            known[part] = found
            options.file.write_text(json.dumps(known, indent=1) + "\n")
            continue
        for name in sorted(known[part].keys() | found.keys()):
            if known[part].get(name) != found.get(name):
                differing += 1
                print(f"{part}: {name}: {known[part].get(name)} is now {found.get(name)}")
    if options.action == "check":
        print(f"{differing} results differ")
    return int(differing > 0)


def _results(part: str) -> dict[str, Any]:
    with ThreadPoolExecutor(os.cpu_count() if part in ("searches", "objects") else 1) as threads:
        made = {name: threads.submit(make) for name, make in PARTS[part]()}
        return {name: future.result() for name, future in track(made.items(), f"{part:10}")}


if __name__ == "__main__":
    import golden  # so that worker processes find its functions

    sys.exit(golden.main())
