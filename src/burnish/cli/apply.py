"""burnish apply: the effect of each step of a trace, from the command line or a result."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path

from burnish.cli.jobs.arguments import add_task, load_configured, programs_help, split_at_dashes
from burnish.cli.jobs.results import check_same, load_source, read_results, task_of
from burnish.console.command_parser import COUNT, CommandParser
from burnish.console.numbers import cost_text
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import Column, TextTable, figures, heading_of, names
from burnish.core.errors import CompilerCrash, InputError
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.evaluation.explain import contributions, idle_steps, minimize_trace
from burnish.evaluation.remeasure import measure_all
from burnish.evaluation.states import States
from burnish.workers.sandbox import Sandbox

Row = dict[str, object]


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, compiler = split_at_dashes(arguments)
    options = _parser(words).parse(words)
    task, program, trace, goal = _result(options) if options.result else _by_hand(options, compiler)
    if options.minimize and goal.noisy:
        raise InputError(
            f"--minimize: {goal.name} differs at each measurement, so it cannot show which steps matter"
        )
    rows, crash = _apply_steps(task, program, trace, goal)
    form = None if options.json else form_of(options)
    _show_steps(rows, task, goal, form)
    if crash:
        raise crash
    if not options.minimize:
        return 0
    with SearchProgress(program.name, task.label(task.reference), quiet=options.json) as progress:
        progress.note("leaving out steps")
        matter, rows = _minimized_steps(task, program, trace, goal)
    if form:
        form.note(
            f"\n{len(matter)} of {len(trace)} matter for {goal.unit}; the cost is higher without "
            "any one of them:"
        )
    _show_steps(rows, task, goal, form)
    return 0


def _parser(words: Sequence[str]) -> CommandParser:
    parser = CommandParser(
        prog="burnish apply",
        compiler="burnish apply hot.c gvn -- -Iinclude",
        description="Apply actions one after the other and show how each changes the costs. An idle step "
        "changes nothing, and later steps do not need it.",
        epilog="Example: burnish apply hot.c 'sroa<modify-cfg>' simplifycfg 'main: gvn' -- -Iinclude",
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="PROGRAM", help=f"{programs_help(words)}; not needed for a result")
    add("actions", nargs="*", metavar="[SITE: ]ACTION", help="see burnish tasks TASK")
    add("--result", type=Path, metavar="FILE", help="explain what burnish optimize wrote with --result")
    add("--number", type=COUNT, metavar="N", help="which of its results, from 1")
    add(
        "--minimize", action="store_true", help="also leave out steps that do not matter, and show the others"
    )
    add("--objective", help="the objective; default: the task's first one, or the result's own")
    add_table_form(parser, json="print one line of JSON for each step")
    add_task(parser, words)
    return parser


def _by_hand(options: argparse.Namespace, compiler: Sequence[str]) -> tuple[Task, Program, Trace, Objective]:
    if options.file is None:
        raise InputError("expected a program and actions, or --result; see burnish apply --help")
    if options.number is not None:
        raise InputError("--number needs --result")
    task, loaded = load_configured(options, compiler)
    return task, loaded.program, tuple(options.actions), _goal(task, options.objective)


def _result(options: argparse.Namespace) -> tuple[Task, Program, Trace, Objective]:
    if options.actions:
        raise InputError("--result has its own actions; leave out the others")
    row = _choose(read_results(options.result), options.number, options.result)
    task = task_of(row)
    if row.fallback:
        raise InputError(f"{row.program}: {task.label(row.fallback)} was kept: there is no trace to explain")
    if options.file:
        program = task.source().load(options.file).program
    else:
        program = load_source(row, options.result.parent)
    check_same(program, row)
    return task, program, row.trace, _goal(task, options.objective or row.objective)


def _choose(rows: Sequence[Result], number: int | None, path: Path) -> Result:
    if number is None and len(rows) == 1:
        return rows[0]
    if number is None or not 1 <= number <= len(rows):
        found = ", ".join(f"{i} {row.program}" for i, row in enumerate(rows[:8], 1))
        more = ", ..." if len(rows) > 8 else ""
        raise InputError(f"{path}: expected --number 1 to {len(rows)}: {found}{more}")
    return rows[number - 1]


def _goal(task: Task, name: str | None) -> Objective:
    goal = task.objective(name)
    if goal.noisy and task.exact_objectives:
        raise InputError(
            f"{goal.name} differs at each measurement; expected another --objective: "
            f"{', '.join(task.exact_objectives)}"
        )
    return goal


def _apply_steps(
    task: Task, program: Program, trace: Trace, goal: Objective
) -> tuple[list[Row], CompilerCrash | None]:
    """Apply a trace; return a row for the program and for each step up to a crash, and the crash."""
    session = Sandbox(task.open, program)
    rows: list[Row] = []
    digests: list[str] = []
    objectives = dict.fromkeys([*task.exact_objectives, goal.name])
    crash = None
    try:
        for text in (None, *trace):
            start = time.perf_counter()
            changed = None if text is None else session.apply_entry(text)
            spent = 0.0 if text is None else round(1000 * (time.perf_counter() - start), 3)
            costs = measure_all(session, objectives=objectives, needed=goal.name)
            step = "(opened)" if text is None else text
            rows.append({"step": step, "changed": changed, "milliseconds": spent, **costs})
            digests.append(session.digest())
    except CompilerCrash as error:
        crash = error
    finally:
        session.shutdown()
    idle = idle_steps(task, program, trace[: len(rows) - 1], tuple(digests[: len(rows)]))
    for row, nothing in zip(rows, (False, *idle), strict=True):
        row["idle"] = nothing
    return rows, crash


def _minimized_steps(task: Task, program: Program, trace: Trace, goal: Objective) -> tuple[Trace, list[Row]]:
    """Leave out steps that do not matter; return the rest of the trace, and its rows with contributions."""
    with States(task, program) as states:
        matter = minimize_trace(states, trace, goal.name).trace
        worth = contributions(states, matter, goal.name)
    rows, crash = _apply_steps(task, program, matter, goal)
    if crash:
        raise crash
    for row, more in zip(rows, (None, *worth), strict=True):
        row["without"] = None if more is None or math.isinf(more) else more
    return matter, rows


def _show_steps(rows: Sequence[Row], task: Task, goal: Objective, form: TableForm | None) -> None:
    """Print a table and the equivalent command without burnish; if `form` is None, print JSON."""
    if form is None:
        for row in rows:
            print(json.dumps(row))
        return
    shown = [name for name in dict.fromkeys([*task.shown.objectives, goal.name]) if name in rows[0]]
    columns = [names("step")]
    for name in shown:
        heading = heading_of(task, name)
        columns += [*figures(heading), Column("change", label=f"change of {heading}")]
    columns += figures("ms", *(["without"] if "without" in rows[0] else []))
    table = TextTable(tuple(columns))
    for before, row in zip((rows[0], *rows), rows, strict=False):
        table.add(*_cells(before, row, shown))
    form.show(table)
    if goal.noisy:
        form.note(f"{goal.name} was measured once for each state: small changes may be noise.")
    steps = [str(row["step"]) for row in rows[1:]]
    if steps and task.checks.commandline:
        with contextlib.suppress(InputError):  # raised if no tool can run one of the steps
            form.note(task.checks.commandline(tuple(steps)))


def _cells(before: Row, row: Row, shown: Sequence[str]) -> list[str]:
    cells = [f"{row['step']}{' (idle)' if row['idle'] else ''}"]
    for name in shown:
        cost = float(str(row[name]))
        difference = cost - float(str(before[name]))
        cells += [cost_text(cost), f"{difference:+.6g}" if difference else ""]
    first = row is before
    cells.append("" if first else f"{row['milliseconds']:.1f}")
    if "without" in row:
        cells.append("" if first else "needed" if row["without"] is None else f"{row['without']:+.0f}")
    return cells
