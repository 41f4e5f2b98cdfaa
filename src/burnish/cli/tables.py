"""Tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from burnish.core.result import Result

SHOWN = ("O0", "Oz", "O3")
MEASURES = {"ir-instructions": "IR instrs", "text-bytes": ".text B"}  # always side by side


def results_table(results: Sequence[Result]) -> None:
    """Print instructions and bytes under some levels and burnish, per program and in total."""
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)  # to fit 80 columns
    table.add_column("program", overflow="fold")
    table.add_column("", no_wrap=True)
    for name in SHOWN:
        table.add_column(f"-{name}", justify="right")
    table.add_column("burnish", justify="right", style="bold", no_wrap=True)
    table.add_column("to -Oz", justify="right", no_wrap=True)
    table.add_column("evals", justify="right", no_wrap=True)
    table.add_column("sec", justify="right", no_wrap=True)
    for result in results:
        rows = [_costs(result, objective) for objective in MEASURES]
        _add(table, Path(result.program).name, rows, result.evaluations, result.seconds)
    if len(results) > 1:
        table.add_section()
        sums = [_sum([_costs(result, objective) for result in results]) for objective in MEASURES]
        evaluations = sum(result.evaluations for result in results)
        _add(table, f"all {len(results)}", sums, evaluations, sum(result.seconds for result in results))
    console.print(table)
    for line in _notes(results):
        console.print(line, highlight=False)


def _add(
    table: Table, name: str, rows: Sequence[Mapping[str, float]], evaluations: int, seconds: float
) -> None:
    for number, (unit, costs) in enumerate(zip(MEASURES.values(), rows, strict=True)):
        change = 100 * (costs["result"] / costs["Oz"] - 1)
        cells = [*(f"{costs[level]:.0f}" for level in SHOWN), f"{costs['result']:.0f}", f"{change:+.1f}%"]
        effort = ["", ""] if number else [str(evaluations), f"{seconds:.1f}"]
        table.add_row("" if number else name, unit, *cells, *effort)


def _costs(result: Result, objective: str) -> Mapping[str, float]:
    if objective == result.objective:
        return {"result": result.cost, **result.baselines}
    return result.beside[objective]


def _sum(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) for name in rows[0]}


def _notes(results: Sequence[Result]) -> list[str]:
    """What the numbers alone do not say."""
    notes = []
    kept = [Path(result.program).name for result in results if result.fallback]
    if kept:
        notes.append(f"Nothing better than clang's own result was found, which is kept: {', '.join(kept)}")
    for result in results:
        if not result.valid:
            notes.append(f"{result.program}: {result.verified[0]}")
        if result.options:
            named = ", ".join(f"{name} = {value}" for name, value in result.options.items())
            notes.append(f"{result.program}: not comparable with clang's levels: {named}")
    checks = sorted({check for result in results if result.valid for check in result.verified})
    if checks:
        notes.append(f"Verified: {'; '.join(checks)}.")
    return notes
