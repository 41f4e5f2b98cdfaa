"""burnish apply: a trace by hand, or that of a result: what each step does, and which ones matter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from burnish.cli.arguments import add_task, given_settings, programs_help, split_at_dashes
from burnish.cli.progress import SearchProgress
from burnish.cli.results import check_same, load_source, read_results, task_of
from burnish.cli.steps import apply_steps, minimized_steps, show_steps
from burnish.core.errors import InputError
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.tasks import task_for


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, compiler = split_at_dashes(arguments)
    options = _parser(words).parse_args(words)
    task, program, trace, goal = _result(options) if options.result else _by_hand(options, compiler)
    rows, crash = apply_steps(task, program, trace, goal)
    show_steps(rows, task, goal, as_json=options.json)
    if crash:
        raise crash
    if not options.minimize:
        return 0
    with SearchProgress(program.name, task.label(task.reference), quiet=options.json) as progress:
        progress.note("leaving out steps")
        matter, rows = minimized_steps(task, program, trace, goal)
    if not options.json:
        print(f"\n{len(matter)} of {len(trace)} matter for {goal.unit}; without one of them it is more:")
    show_steps(rows, task, goal, as_json=options.json)
    return 0


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish apply",
        description="Apply actions one after the other and show what each does to the costs. "
        "Idle is a step that changes nothing and that the rest does not need.",
        epilog="Example: burnish apply hot.c 'sroa<modify-cfg>' simplifycfg 'main: gvn' -- -Iinclude",
    )
    add = parser.add_argument
    add("file", nargs="?", metavar="PROGRAM", help=f"{programs_help(words)}; not needed for a result")
    add("actions", nargs="*", metavar="[SITE: ]ACTION", help="see burnish tasks TASK")
    add("--result", type=Path, metavar="FILE", help="explain what burnish optimize wrote with --result")
    add("--number", type=int, metavar="N", help="which of its results, from 1")
    add("--minimize", action="store_true", help="also leave out what does not matter, and show what is left")
    add("--objective", help="what matters; default: the task's first one, or the result's own")
    add("--json", action="store_true", help="print one line of JSON for each step")
    add_task(parser, words)
    return parser


def _by_hand(options: argparse.Namespace, compiler: Sequence[str]) -> tuple[Task, Program, Trace, Objective]:
    if options.file is None:
        raise InputError("expected a program and actions, or --result; see burnish apply --help")
    if options.number is not None:
        raise InputError("--number is for --result")
    task = task_for([options.file], options.task)
    task = task.configured(given_settings(options, task))
    program = task.source().load(options.file, compiler).program
    return task, program, tuple(options.actions), _goal(task, options.objective)


def _result(options: argparse.Namespace) -> tuple[Task, Program, Trace, Objective]:
    if options.actions:
        raise InputError("with --result the actions are the result's; leave them out")
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
    if goal.noisy:
        raise InputError(
            f"{goal.name} is never the same twice; say what matters by --objective: "
            f"{', '.join(task.exact_objectives)}"
        )
    return goal
