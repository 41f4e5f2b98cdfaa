"""The steps of a trace, as rows and as a table."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from burnish.cli.costs import cost_text
from burnish.cli.tables import heading_of
from burnish.core.errors import CompilerCrash, InputError
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.sandbox import Sandbox
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.walk import apply_entry
from burnish.evaluation.explain import contributions, idle_steps, minimize_trace
from burnish.evaluation.states import States

Row = dict[str, object]


def apply_steps(
    task: Task, program: Program, trace: Trace, goal: Objective
) -> tuple[list[Row], CompilerCrash | None]:
    """Apply a trace; return a row for the program and for each step up to a crash, and the crash."""
    session = Sandbox(task.open, program)
    rows: list[Row] = []
    digests: list[str] = []
    objectives = tuple(dict.fromkeys([*task.exact_objectives, goal.name]))
    crash = None
    try:
        for row in _walk(session, trace, objectives):
            rows.append(row)
            digests.append(session.digest())
    except CompilerCrash as error:
        crash = error
    finally:
        session.shutdown()
    idle = idle_steps(task, program, trace[: len(rows) - 1], tuple(digests[: len(rows)]))
    for row, nothing in zip(rows, (False, *idle), strict=True):
        row["idle"] = nothing
    return rows, crash


def _walk(session: Sandbox, trace: Trace, objectives: Sequence[str]) -> Iterator[Row]:
    yield _row("(opened)", None, 0.0, session, objectives)
    for text in trace:
        start = time.perf_counter()
        changed = apply_entry(session, text)
        yield _row(text, changed, time.perf_counter() - start, session, objectives)


def _row(text: str, changed: bool | None, seconds: float, session: Sandbox, objectives: Sequence[str]) -> Row:
    costs = {name: session.measure(name) for name in objectives}
    return {"step": text, "changed": changed, "milliseconds": round(1000 * seconds, 3), **costs}


def minimized_steps(task: Task, program: Program, trace: Trace, goal: Objective) -> tuple[Trace, list[Row]]:
    """Leave out what does not matter; return what is left, and its rows with what each is worth."""
    with States(task, program) as states:
        matter = minimize_trace(states, trace, goal.name).trace
        worth = contributions(states, matter, goal.name)
    rows, crash = apply_steps(task, program, matter, goal)
    if crash:
        raise crash
    for row, more in zip(rows, (None, *worth), strict=True):
        row["without"] = None if more is None or math.isinf(more) else more
    return matter, rows


def show_steps(rows: Sequence[Row], task: Task, goal: Objective, *, as_json: bool) -> None:
    """Print a table and the command that does the same without burnish, or a line of JSON for each row."""
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)  # to fit 80 columns
    table.add_column("step", overflow="fold")
    shown = tuple(dict.fromkeys([*task.shown.objectives, goal.name]))
    for name in shown:
        table.add_column(heading_of(task, name), justify="right", no_wrap=True)
        table.add_column("change", justify="right")
    table.add_column("ms", justify="right")
    if "without" in rows[0]:
        table.add_column("without", justify="right")
    for before, row in zip((rows[0], *rows), rows, strict=False):
        table.add_row(*_cells(before, row, shown))
    Console().print(table)
    steps = [str(row["step"]) for row in rows[1:]]
    if steps and task.commandline:
        with contextlib.suppress(InputError):  # no tool has a text for one of them
            print(task.commandline(tuple(steps)))


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
