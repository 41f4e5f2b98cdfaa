"""burnish replay: results replayed and checked."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from burnish.cli.jobs.arguments import split_at_dashes
from burnish.cli.jobs.results import Troubles, load_source, read_results, task_of
from burnish.console.command_parser import CommandParser
from burnish.console.numbers import cost_text
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import add_table_form, form_of
from burnish.console.tables import TextTable, figures, names, texts
from burnish.core.errors import CompilerCrash, InputError, ReplayError
from burnish.core.result import Result
from burnish.evaluation import replay_result
from burnish.search.problem import Problem


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, compiler = split_at_dashes(arguments)
    options = _parser().parse(words)
    if compiler and not options.program:
        raise InputError("options for the compiler need --program; results have their own")
    rows = read_results(options.result)
    if options.program and len(rows) > 1:
        raise InputError(f"--program is for a single result; {options.result} has {len(rows)}")
    table = outcomes_table()
    good = True
    troubles = Troubles(len(rows))
    for row in rows:
        with troubles:
            with SearchProgress(row.program, "", quiet=options.json) as progress:
                progress.note("replaying")
                problem = _check(row, options, compiler)
            good = good and not problem
            if options.json:
                print(json.dumps({"program": row.program, "same": not problem, "problem": problem}))
            else:
                kept = f"{task_of(row).label(row.fallback)} was kept" if row.fallback else ""
                what, cost = kept or f"{len(row.trace)} steps", cost_text(row.cost)
                table.add(row.program, what, cost, row.objective, problem or "the same again")
    if table.rows:
        form_of(options).show(table)
    return 2 if troubles.any else 0 if good else 1


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish replay",
        compiler="burnish replay found.jsonl --program hot.c -- -Iinclude",
        description="Replay every result of a file in new processes, and check its state and cost. Times are "
        "not measured again: see burnish compare. Exit code 1 if a result differs, 2 if a program "
        "is missing; the others are replayed.",
        epilog="--program is read with the result's options for the compiler, or with those that follow a "
        "double dash: burnish replay found.jsonl --program ../hot.c -- -I../include",
    )
    parser.add_argument("result", type=Path, help="what burnish optimize wrote with --result or --json")
    parser.add_argument("--program", type=Path, help="path of the program, if the result's path is wrong")
    add_table_form(parser, json="print one line of JSON for each result")
    return parser


def outcomes_table() -> TextTable:
    """Return the table of outcomes, without rows."""
    columns = (names("program"), texts("trace"), *figures("cost"), names("objective"), texts("outcome"))
    return TextTable(columns)


def _check(row: Result, options: argparse.Namespace, compiler: Sequence[str]) -> str:
    """Return the first difference between a replay and the result; "" if there is none."""
    task = task_of(row)
    program = load_source(row, options.result.parent, options.program, compiler)
    if program.digest != row.digest:
        return f"the program is not the same: its digest is {program.digest}, the result's {row.digest}"
    try:
        session = replay_result(Problem(task, program), row)
        cost = row.cost if task.objective(row.objective).noisy else session.measure(row.objective)
        state = session.digest()
        session.shutdown()
    except (CompilerCrash, ReplayError) as error:
        return str(error)
    if cost != row.cost:
        return f"{row.objective} is {cost_text(cost)}, the result's {cost_text(row.cost)}"
    same = row.fallback or state == row.state  # a baseline's state is not in the result
    return "" if same else "another state of the same cost"
