"""burnish passes: a trace by hand."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from burnish.cli.arguments import split_at_dashes
from burnish.core.sandbox import Sandbox
from burnish.core.trace import split_entry
from burnish.programs import load_program
from burnish.tasks.llvm_passes import TASK
from burnish.tasks.llvm_passes.actions import as_opt_pipeline


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, clang = split_at_dashes(arguments)
    options = _parser().parse_args(words)
    program = load_program(options.file, clang)
    session = Sandbox(TASK.open, program)
    rows = [_row("(opened)", session, None, 0.0)]
    for text in options.passes:
        site, action = split_entry(text)
        start = time.perf_counter()
        changed = session.apply(session.index(action), site)
        rows.append(_row(text, session, changed, time.perf_counter() - start))
    session.shutdown()
    if options.json:
        for row in rows:
            print(json.dumps(row))
        return 0
    _print(rows)
    if options.passes and (line := as_opt_pipeline(options.passes)):
        print(f"opt -passes='{line}'")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish passes",
        description="Apply passes one after the other and show what each does to the size.",
        epilog="Example: burnish passes hot.c 'sroa<modify-cfg>' simplifycfg 'main: gvn' -- -Iinclude",
    )
    parser.add_argument("file", type=Path, help=".c .cc .cpp .ll or .bc")
    parser.add_argument("passes", nargs="*", metavar="[FUNCTION: ]PASS", help="see burnish tasks llvm_passes")
    parser.add_argument("--json", action="store_true", help="print one line of JSON for each step")
    return parser


def _row(text: str, session: Sandbox, changed: bool | None, seconds: float) -> dict[str, object]:
    costs = {objective: session.measure(objective) for objective in TASK.objectives}
    return {"step": text, "changed": changed, "milliseconds": round(1000 * seconds, 3), **costs}


def _print(rows: list[dict[str, object]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("step", overflow="fold")
    for goal in TASK.objectives.values():
        table.add_column(goal.unit if goal.dense else f".text {goal.unit}", justify="right")
        table.add_column("change", justify="right")
    table.add_column("ms", justify="right")
    before = rows[0]
    for row in rows:
        cells = []
        for objective in TASK.objectives:
            difference = float(str(row[objective])) - float(str(before[objective]))
            cells += [f"{row[objective]:.0f}", f"{difference:+.0f}" if difference else ""]
        idle = " (no change)" if row["changed"] is False else ""
        milliseconds = "" if row is before else f"{row['milliseconds']:.1f}"
        table.add_row(f"{row['step']}{idle}", *cells, milliseconds)
        before = row
    Console().print(table)
