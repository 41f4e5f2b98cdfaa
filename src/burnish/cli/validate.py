"""burnish validate: validation of results, with a minimal reproducer for each wrong one."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from burnish.cli.jobs.arguments import add_limits, limits_of
from burnish.cli.jobs.results import RUN, Troubles, check_same, load_source, read_results, task_of
from burnish.console.command_parser import SECONDS, CommandParser, shell_words
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import TextTable, names, texts
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.validate import Scrutiny, Validation, check_sanitizers, validate

Shown = tuple[tuple[str, str, str], list[str]]  # a result's row, and the lines below the table


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse(arguments)
    rows = read_results(options.result)
    if options.program and len(rows) > 1:
        raise InputError(f"--program is for a single result; {options.result} has {len(rows)}")
    sanitizers = _names(options.sanitize)
    for name in dict.fromkeys(row.task for row in rows if sanitizers):
        check_sanitizers(load_task(name), sanitizers)
    scrutiny = Scrutiny(sanitizers, options.reduce_seconds, options.timeout, limits_of(options))
    good = True
    found: list[Shown] = []
    troubles = Troubles(len(rows))
    for row in rows:
        with troubles:
            task = task_of(row)
            validation, errors, folder = _validate(row, task, options, scrutiny)
            good = good and not (validation.failure or errors)
            if options.json:
                print(json.dumps(_as_json(row, validation, errors, folder)))
            found.append(_as_text(row, task, validation, errors, folder))
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
    add(
        "--link",
        type=shell_words,
        default=(),
        metavar="WORDS",
        help="arguments for the linker: -lm, other objects",
    )
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


def _validate(
    row: Result, task: Task, options: argparse.Namespace, scrutiny: Scrutiny
) -> tuple[Validation, list[str], Path | None]:
    """Validate one result; return also the errors of the program itself, and the reproducer's folder."""
    if row.fallback:
        task = replace(task, open=task.baseline(row.fallback))
    if options.run and (row.source or row.bundle or options.program):
        made_of = [word for word in row.source if not word.startswith(RUN)]
        row = replace(row, source=(*made_of, *(RUN + run for run in options.run)))
    program = _program(row, task, options)
    errors, notes = list[str](), list[str]()
    with SearchProgress(row.program, task.label(task.reference), quiet=options.json) as progress:
        check = task.checks.validator().check_program
        if check and scrutiny.sanitizers:
            words = [word for word in row.source if not word.startswith(RUN)]
            errors, notes = check(program, words, scrutiny.sanitizers)
        validation = validate(task, program, row.trace, scrutiny=scrutiny, note=progress.note)
    folder = None
    if validation.reproducer:
        folder = options.reproducers / (re.sub(r"[^\w.-]+", "_", row.program) + ".reproducer")
        validation.reproducer.write(folder)
    return replace(validation, checks=(*validation.checks, *notes)), errors, folder


def _program(row: Result, task: Task, options: argparse.Namespace) -> Program:
    """Return a result's program with all of its known inputs, or with the runs of the command line."""
    program = load_source(row, options.result.parent, options.program)
    check_same(program, row)
    if not any(word.startswith(RUN) for word in row.source):
        program = task.source().with_inputs(program, _names(options.inputs) or None)
    if not (options.link and program.workload):
        return program
    link = (*program.workload.link_arguments, *options.link)
    return replace(program, workload=replace(program.workload, link_arguments=link))


def _show(found: Sequence[Shown], form: TableForm) -> None:
    """Print a row for each result, and below the table the checks and errors."""
    table = TextTable((names("program"), texts("trace"), texts("outcome")))
    for cells, _ in found:
        table.add(*cells)
    form.show(table)
    for cells, details in found:
        form.note("\n".join([cells[0], *(f"  {line}" for line in details)]))


def _as_text(
    row: Result, task: Task, validation: Validation, errors: Sequence[str], folder: Path | None
) -> Shown:
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
