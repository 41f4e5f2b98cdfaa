"""burnish validate: is what was found right? Where it is not, the least that shows it."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.cli.jobs.results import Troubles, check_same, load_elsewhere, load_source, read_results, task_of
from burnish.cli.show.progress import SearchProgress
from burnish.core.errors import InputError
from burnish.core.program import Program, Workload
from burnish.core.result import Result
from burnish.core.worker import GIB, Limits
from burnish.corpora.kernels import FLAGS, find_kernel, load_kernel
from burnish.evaluation.sanitize import check_source, parse_sanitizers
from burnish.evaluation.validate import Validation, validate
from burnish.execution import RunLimits
from burnish.execution.runs import read_run
from burnish.toolchain import C_SUFFIXES, CXX_SUFFIXES

KERNELS = "kernels:"


@dataclass(frozen=True)
class Settings:
    """What the command line says for all results."""

    sanitizers: tuple[str, ...]
    workload: Workload | None
    inputs: tuple[str, ...] | None  # of kernels; None for all
    reproducers: Path
    reduce_seconds: float
    limits: Limits
    run_limits: RunLimits
    beside: Path  # the folder of the results


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    rows = read_results(options.result)
    if options.program and len(rows) > 1:
        raise InputError(f"--program is for a single result; {options.result} has {len(rows)}")
    settings = Settings(
        parse_sanitizers(options.sanitize),
        _workload(options),
        tuple(options.inputs.split(",")) if options.inputs else None,
        options.reproducers,
        options.reduce_seconds,
        Limits(options.deadline, int(options.memory * GIB)),
        RunLimits(timeout_seconds=options.timeout),
        options.result.parent,
    )
    good = True
    troubles = Troubles(len(rows))
    for row in rows:
        with troubles:
            good = _validate(row, options.program, settings, as_json=options.json) and good
    return 2 if troubles.any else 0 if good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish validate",
        description="Check results: replay each in two new processes, verify the module, and compare what "
        "the program prints, on all of its inputs, with what it prints unoptimized. A trace that breaks its "
        "program is reduced to the shortest that does, and a folder for LLVM's bug tracker is written. "
        "A program that is not run is never called right. Exit code 1 if anything is wrong.",
        epilog="Programs of your own: burnish validate found.jsonl --run '3 words' --run '-v < input.txt'",
    )
    add = parser.add_argument
    add("result", type=Path, help="what burnish optimize wrote with --result or --json")
    add("--program", type=Path, help="the program, where it is not where the result says")
    add("--run", action="append", default=[], metavar="'ARGS [< FILE]'", help="an input; may be repeated")
    add("--inputs", metavar="LIST", help="of a kernel: small, medium, large, with commas; default: all")
    add("--link", default="", metavar="WORDS", help="for clang, to link the program: -lm, other objects")
    add("--sanitize", default="", metavar="LIST", help="address, undefined or both, with a comma")
    add("--reproducers", type=Path, default=Path(), metavar="FOLDER", help="where they go; default: here")
    add("--reduce-seconds", type=float, default=300.0, metavar="S", help="at most, for a trace; default: 300")
    add("--timeout", type=float, default=10.0, metavar="SECONDS", help="of one run; default: 10")
    add("--deadline", type=float, default=60.0, metavar="SECONDS", help="for one pass; default: 60")
    add("--memory", type=float, default=4.0, metavar="GIB", help="of a worker; default: 4")
    add("--json", action="store_true", help="print one line of JSON for each result")
    return parser


def _validate(row: Result, path: Path | None, settings: Settings, *, as_json: bool) -> bool:
    """Validate one result and print what came of it; return whether it is right."""
    task = task_of(row)
    if row.fallback:
        task = replace(task, open=task.baseline(row.fallback))
    program = _program(row, path, settings)
    with SearchProgress(row.program, task.label(task.reference), quiet=as_json) as progress:
        errors, notes = _sanitized(row, program, settings)
        validation = validate(
            task,
            program,
            row.trace,
            sanitize_address="address" in settings.sanitizers,
            reduce_seconds=settings.reduce_seconds,
            limits=settings.limits,
            run_limits=settings.run_limits,
            note=progress.note,
        )
    folder = None
    if validation.reproducer:
        folder = settings.reproducers / (re.sub(r"[^\w.-]+", "_", row.program) + ".reproducer")
        validation.reproducer.write(folder)
    validation = replace(validation, checks=(*validation.checks, *notes))
    if as_json:
        print(json.dumps(_as_json(row, validation, errors, folder)))
    else:
        print("\n".join(_as_text(row, validation, errors, folder)))
    return not validation.failure and not errors


def _program(row: Result, path: Path | None, settings: Settings) -> Program:
    program = load_elsewhere(row, path) if path else load_source(row, settings.beside)
    check_same(program, row)
    if program.name.startswith(KERNELS):
        program = load_kernel(program.name.removeprefix(KERNELS), settings.inputs)
    return replace(program, workload=settings.workload) if settings.workload else program


def _workload(options: argparse.Namespace) -> Workload | None:
    if not options.run:
        return None
    return Workload(tuple(map(read_run, options.run)), link_arguments=tuple(shlex.split(options.link)))


def _sanitized(row: Result, program: Program, settings: Settings) -> tuple[list[str], list[str]]:
    """Return what sanitizers find in the source itself, and notes on what they could not look at."""
    if not settings.sanitizers:
        return [], []
    if not program.workload:
        return [], ["sanitizers did not run: the program has no workload"]
    file, *clang = row.source or ("",)
    if program.name.startswith(KERNELS):
        kernel = find_kernel(program.name.removeprefix(KERNELS))
        file, clang = str(kernel.source), list(FLAGS)
    if Path(file).suffix not in C_SUFFIXES | CXX_SUFFIXES or any(map(_is_source, clang)):
        return [], ["sanitizers did not see the source: that takes a single C or C++ file"]
    names = " and ".join(settings.sanitizers)
    found = check_source(Path(file), clang, program.workload, settings.sanitizers)
    return found, [] if found else [f"sanitizers ({names}) find nothing in the source"]


def _is_source(word: str) -> bool:
    return not word.startswith("-") and Path(word).suffix in C_SUFFIXES | CXX_SUFFIXES


def _as_text(row: Result, validation: Validation, errors: Sequence[str], folder: Path | None) -> list[str]:
    steps = f"{len(row.trace)} step{'' if len(row.trace) == 1 else 's'}"
    what = f"-{row.fallback} was kept" if row.fallback else steps
    failure, reduced, reproducer = validation.failure, validation.reduced, validation.reproducer
    good = "right" if validation.compared else "replayed and verified; what it does was not compared (--run)"
    lines = [f"{row.program}: {what}: {f'WRONG: {failure}' if failure else good}"]
    lines += [f"  {check}" for check in validation.checks]
    lines += [f"  the program itself is undefined: {error}" for error in errors]
    if reduced:
        least = "the shortest that is wrong" if reduced.minimal else "wrong too (the time is up)"
        lines += [f"  {least}, after {reduced.tests} tests: {shlex.join(reduced.trace) or 'none'}"]
    if reproducer and folder:
        lines += [f"  {reproducer.command or 'the installed tools of LLVM do not show it'}"]
        lines += [f"  see {folder / 'README.md'}"]
    return lines


def _as_json(
    row: Result, validation: Validation, errors: Sequence[str], folder: Path | None
) -> dict[str, object]:
    failure, reduced, reproducer = validation.failure, validation.reduced, validation.reproducer
    return {
        "program": row.program,
        "right": False if failure or errors else True if validation.compared else None,  # None: not known
        "checks": validation.checks,
        "kind": failure.kind if failure else "",
        "failure": str(failure) if failure else "",
        "source_errors": errors,
        "reduced": reduced.trace if reduced else None,
        "minimal": reduced.minimal if reduced else None,
        "command": reproducer.command if reproducer else "",
        "functions": reproducer.functions if reproducer else (),
        "reproducer": str(folder) if folder else "",
    }
