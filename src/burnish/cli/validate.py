"""burnish validate: validation of results, with a minimal reproducer for each wrong one."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.cli.jobs.arguments import add_limits, limits_of
from burnish.cli.jobs.results import (
    RUN,
    Troubles,
    check_same,
    load_elsewhere,
    load_source,
    read_results,
    task_named,
    task_of,
)
from burnish.console.command_parser import SECONDS, CommandParser
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import TextTable, names, texts
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.validate import Scrutiny, Validation, check_sanitizers, validate


@dataclass(frozen=True)
class Settings:
    """Options of the command line, which hold for all results."""

    program: Path | None
    runs: tuple[str, ...]
    link: tuple[str, ...]
    inputs: tuple[str, ...] | None  # names of the programs' own inputs to run; None for all
    reproducers: Path
    scrutiny: Scrutiny
    beside: Path  # the folder of the results' file


@dataclass(frozen=True)
class ValidatedRow:
    """The printed row and details of one validated result."""

    good: bool
    cells: tuple[str, str, str]
    details: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse(arguments)
    rows = read_results(options.result)
    if options.program and len(rows) > 1:
        raise InputError(f"--program is for a single result; {options.result} has {len(rows)}")
    sanitizers = _names(options.sanitize)
    for name in dict.fromkeys(row.task for row in rows if sanitizers):
        check_sanitizers(task_named(name, {}), sanitizers)
    settings = Settings(
        options.program,
        tuple(options.run),
        tuple(shlex.split(options.link)),
        _names(options.inputs) or None,
        options.reproducers,
        Scrutiny(
            sanitizers,
            options.reduce_seconds,
            options.timeout,
            limits_of(options),
        ),
        options.result.parent,
    )
    good = True
    found: list[ValidatedRow] = []
    troubles = Troubles(len(rows))
    for row in rows:
        with troubles:
            outcome = _validate(row, settings, as_json=options.json)
            found.append(outcome)
            good = outcome.good and good
    if found and not options.json:
        _show(found, form_of(options))
    return 2 if troubles.any else 0 if good else 1


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish validate",
        description="Check results: replay each in two new processes, verify the state, and compare the "
        "program's behaviour on all inputs with that of the unoptimized program. A trace that "
        "breaks its program is reduced to a minimal one, and a folder with a reproducer is "
        "written: ready for the compiler's bug tracker, if the task supports this. A program that "
        "is not run is never reported as right. Exit code 1 if anything is wrong.",
        epilog="Programs of your own: burnish validate found.jsonl --run '3 words' --run '-v < input.txt'",
    )
    add = parser.add_argument
    add("result", type=Path, help="what burnish optimize wrote with --result or --json")
    add("--program", type=Path, help="the program, where it is not where the result says")
    add("--run", action="append", default=[], metavar="'ARGS [< FILE]'", help="an input; may be repeated")
    add("--inputs", default="", metavar="LIST", help="inputs to run: small,medium; default: all")
    add("--link", default="", metavar="WORDS", help="arguments for the linker: -lm, other objects")
    add(
        "--sanitize",
        default="",
        metavar="LIST",
        help="sanitizers of the task, with commas: address,undefined",
    )
    add(
        "--reproducers",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="folder for reproducers; default: here",
    )
    add(
        "--reduce-seconds",
        type=SECONDS,
        default=300.0,
        metavar="S",
        help="seconds to reduce a trace, at most; default: 300",
    )
    add(
        "--timeout",
        type=SECONDS,
        default=10.0,
        metavar="SECONDS",
        help="seconds of one run, at most; default: 10",
    )
    add_limits(parser, "step")
    add_table_form(parser, json="print one line of JSON for each result")
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in text.split(",") if name))


def _validate(row: Result, settings: Settings, *, as_json: bool) -> ValidatedRow:
    """Validate one result; with `as_json`, print the outcome."""
    task = task_of(row)
    if row.fallback:
        task = replace(task, open=task.baseline(row.fallback))
    if settings.runs and (row.source or row.bundle or settings.program):
        made_of = [word for word in row.source if not word.startswith(RUN)]
        row = replace(row, source=(*made_of, *(RUN + run for run in settings.runs)))
    program = _program(row, task, settings)
    with SearchProgress(row.program, task.label(task.reference), quiet=as_json) as progress:
        errors, notes = _check_program(row, task, program, settings)
        validation = validate(task, program, row.trace, scrutiny=settings.scrutiny, note=progress.note)
    folder = None
    if validation.reproducer:
        folder = settings.reproducers / (re.sub(r"[^\w.-]+", "_", row.program) + ".reproducer")
        validation.reproducer.write(folder)
    validation = replace(validation, checks=(*validation.checks, *notes))
    if as_json:
        print(json.dumps(_as_json(row, validation, errors, folder)))
    cells, details = _as_text(row, task, validation, errors, folder)
    return ValidatedRow(not validation.failure and not errors, cells, tuple(details))


def _show(found: Sequence[ValidatedRow], form: TableForm) -> None:
    """Print a row for each result, and below the table the checks and errors."""
    table = TextTable((names("program"), texts("trace"), texts("outcome")))
    for outcome in found:
        table.add(*outcome.cells)
    form.show(table)
    for outcome in found:
        form.note("\n".join([outcome.cells[0], *(f"  {line}" for line in outcome.details)]))


def _program(row: Result, task: Task, settings: Settings) -> Program:
    """Return a result's program with all of its known inputs, or with the runs of the command line."""
    path = settings.program
    program = load_elsewhere(row, path) if path else load_source(row, settings.beside)
    check_same(program, row)
    if not any(word.startswith(RUN) for word in row.source):
        program = task.source().with_inputs(program, settings.inputs)
    if not (settings.link and program.workload):
        return program
    link = (*program.workload.link_arguments, *settings.link)
    return replace(program, workload=replace(program.workload, link_arguments=link))


def _check_program(
    row: Result, task: Task, program: Program, settings: Settings
) -> tuple[list[str], list[str]]:
    """Return errors in the program itself, and notes on parts that could not be checked."""
    check, names = task.checks.validator().check_program, settings.scrutiny.sanitizers
    if not (check and names):
        return [], []
    return check(program, [word for word in row.source if not word.startswith(RUN)], names)


def _as_text(
    row: Result, task: Task, validation: Validation, errors: Sequence[str], folder: Path | None
) -> tuple[tuple[str, str, str], list[str]]:
    """Return the cells of a result's row, and the lines below the table."""
    steps = f"{len(row.trace)} step{'' if len(row.trace) == 1 else 's'}"
    what = f"{task.label(row.fallback)} was kept" if row.fallback else steps
    failure, reduced, reproducer = validation.failure, validation.reduced, validation.reproducer
    good = "right" if validation.compared else "replayed and verified; its behaviour was not compared (--run)"
    lines = [
        *validation.checks,
        *(f"the program itself has undefined behaviour: {error}" for error in errors),
    ]
    if reduced:
        least = "the shortest wrong trace" if reduced.minimal else "a shorter wrong trace (the time is up)"
        lines += [f"{least}, after {reduced.tests} tests: {shlex.join(reduced.trace) or 'none'}"]
    if reproducer and folder:
        lines += [reproducer.command or reproducer.note, f"see {folder / 'README.md'}"]
    return (row.program, what, f"WRONG: {failure}" if failure else good), lines


def _as_json(
    row: Result, validation: Validation, errors: Sequence[str], folder: Path | None
) -> dict[str, object]:
    failure, reduced, reproducer = validation.failure, validation.reduced, validation.reproducer
    return {
        "program": row.program,
        "right": False if failure or errors else True if validation.compared else None,  # None: unknown
        "checks": validation.checks,
        "kind": failure.kind if failure else "",
        "failure": str(failure) if failure else "",
        "source_errors": errors,
        "reduced": reduced.trace if reduced else None,
        "minimal": reduced.minimal if reduced else None,
        "command": reproducer.command if reproducer else "",
        "functions": reproducer.sites if reproducer else (),
        "reproducer": str(folder) if folder else "",
    }
