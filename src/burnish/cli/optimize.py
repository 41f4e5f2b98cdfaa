"""burnish optimize: files in, smaller objects out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.cli.progress import SearchProgress
from burnish.cli.tables import results_table
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.core.worker import GIB, Limits
from burnish.evaluation import confirm, measure_baselines, replay
from burnish.files import write_atomically
from burnish.programs import link_programs, load_program
from burnish.search import DEFAULT, SEARCHES, Budget, search
from burnish.tasks.llvm_passes import Options, make_task
from burnish.toolchain import IR_SUFFIXES, bitcode_to_object

BASELINES = ("O0", "O2", "O3", "Os", "Oz")


@dataclass(frozen=True)
class Job:
    """One program to optimize, and where it goes."""

    program: Program
    variants: dict[str, Program]  # by level, where clang's front end makes other code for it
    source: tuple[str, ...]
    output: Path


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse_args(_before_dashes(arguments))
    clang = _after_dashes(arguments)
    task = make_task(Options(always_inline=not options.ignore_always_inline))
    objective = task.objective(options.objective).name
    budget = Budget.parse(options.budget)
    limits = Limits(options.deadline, int(options.memory * GIB))
    jobs = (
        [_linked(options, clang)]
        if options.link
        else [_single(options, file, clang) for file in options.files]
    )
    results = []
    for job in jobs:
        with SearchProgress(
            job.program.name, task.reference, quiet=options.json or options.quiet
        ) as progress:
            baselines = measure_baselines(task, job.program, BASELINES, variants=job.variants, limits=limits)
            progress.reference(baselines[task.reference][objective])
            found = search(
                task,
                job.program,
                method=options.search,
                objective=objective,
                budget=budget,
                seed=options.seed,
                workers=options.workers,
                limits=limits,
                progress=progress,
            )
            progress.note("replaying")
            result = confirm(task, job.program, replace(found, source=job.source), baselines, limits=limits)
        _write(task, job, result, clang)
        results.append(result)
        if options.json:
            print(result.to_json(), flush=True)
    if options.result:
        write_atomically(options.result, "".join(f"{result.to_json()}\n" for result in results).encode())
    if not options.json:
        results_table(results)
        for job in jobs:
            print(f"wrote {job.output}")
    return 0 if all(result.valid for result in results) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish optimize",
        description="Search for LLVM passes that make files smaller than clang -Oz does. "
        "Where nothing better is found, clang's own result is kept.",
        epilog="Options for clang follow a double dash: burnish optimize a.c b.c -- -Iinclude -DNDEBUG",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=".c .cc .cpp .ll or .bc")
    parser.add_argument(
        "-o", "--output", type=Path, help="object (.o), .bc or .ll; a folder for several files"
    )
    parser.add_argument(
        "--objective", help="what to minimise (see burnish tasks); default: text-bytes", default="text-bytes"
    )
    parser.add_argument("--search", default=DEFAULT, choices=SEARCHES, help=f"default: {DEFAULT}")
    parser.add_argument(
        "--budget", default="10s", help="for each file: 10s, 2m or 500 (evaluations); default: 10s"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, help="processes; default: one for each core")
    parser.add_argument("--link", action="store_true", help="link the files into one program first")
    parser.add_argument("--json", action="store_true", help="print one result a line instead of the table")
    parser.add_argument(
        "--result", type=Path, metavar="FILE", help="also write the results there, for burnish replay"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress line")
    parser.add_argument(
        "--deadline", type=float, default=60.0, metavar="SECONDS", help="for one pass; default: 60"
    )
    parser.add_argument("--memory", type=float, default=4.0, metavar="GIB", help="of a worker; default: 4")
    parser.add_argument("--ignore-always-inline", action="store_true",
                        help="do not honour always_inline first; every result says so")  # fmt: skip
    return parser


def _before_dashes(arguments: Sequence[str]) -> list[str]:
    words = list(arguments)
    return words[: words.index("--")] if "--" in words else words


def _after_dashes(arguments: Sequence[str]) -> list[str]:
    words = list(arguments)
    return words[words.index("--") + 1 :] if "--" in words else []


def _single(options: argparse.Namespace, file: Path, clang: list[str]) -> Job:
    output = options.output or Path(file.with_suffix(".o").name)
    if len(options.files) > 1 and options.output:
        if not options.output.is_dir():
            raise InputError(f"{options.output}: expected a folder, for {len(options.files)} files")
        output = options.output / file.with_suffix(".o").name
    program = load_program(file, clang)
    variants = {} if file.suffix in IR_SUFFIXES else {"O0": load_program(file, clang, level="O0")}
    _check_output(output)
    return Job(program, variants, (str(file), *clang), output)


def _linked(options: argparse.Namespace, clang: list[str]) -> Job:
    output = options.output or Path("linked.o")
    _check_output(output)
    program = link_programs([load_program(file, clang) for file in options.files])
    return Job(program, {}, (*map(str, options.files), *clang), output)


def _check_output(output: Path) -> None:
    if output.suffix not in (".o", ".bc", ".ll"):
        raise InputError(f"{output}: expected a name that ends in .o, .bc or .ll")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.absolute().parent}")


def _write(task: Task, job: Job, result: Result, clang: list[str]) -> None:
    """Write the optimized program, or the fallback, in the form that the output's name asks for."""
    trace = result.trace
    if result.fallback:
        opener = task.baseline(result.fallback)
        task, trace = replace(task, open=opener), ()
    session, _ = replay(task, job.program, trace)
    try:
        content = session.observe("ir" if job.output.suffix == ".ll" else "bitcode")
    finally:
        session.shutdown()
    data = content.encode() if isinstance(content, str) else bytes(content)
    if job.output.suffix == ".o":
        data = bitcode_to_object(data, clang, level=task.reference)
    write_atomically(job.output, data)
