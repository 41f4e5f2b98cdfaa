"""Tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from burnish.cli.costs import cost_text
from burnish.core.limit import unlimited
from burnish.core.result import Result
from burnish.core.weighted import is_weighted

SHOWN = ("O0", "Oz", "O3")
MEASURES = {
    "ir-instructions": "IR instrs",
    "loaded-bytes": "loaded B",
    "text-bytes": ".text B",
}  # always side by side
UNITS = {**MEASURES, "object-bytes": ".o B", "compile-seconds": "compile s", "seconds": "run s"}


def results_table(results: Sequence[Result]) -> None:
    """Print instructions and bytes under some levels and burnish, per program and in total."""
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)  # to fit 80 columns
    table.add_column("program", overflow="fold", min_width=11)
    table.add_column("", no_wrap=True)
    for name in SHOWN:
        table.add_column(f"-{name}", justify="right")
    table.add_column("burnish", justify="right", style="bold", no_wrap=True)
    references = dict.fromkeys(f"-{_reference(result)}" for result in results)
    table.add_column(f"to {' / '.join(references)}", justify="right", no_wrap=True)
    table.add_column("evals", justify="right", no_wrap=True)
    table.add_column("sec", justify="right", no_wrap=True)
    for result in results:
        rows = {name: _costs(result, name) for name in _shown(result)}
        _add(table, _short(result, results), rows, _reference(result), result.evaluations, result.seconds)
    if len(results) > 1 and len(references) == 1:
        table.add_section()
        common = [name for name in MEASURES if all(name in _shown(result) for result in results)]
        sums = {name: _sum([_costs(result, name) for result in results]) for name in common}
        evaluations = sum(result.evaluations for result in results)
        seconds = sum(result.seconds for result in results)
        _add(table, f"all {len(results)}", sums, _reference(results[0]), evaluations, seconds)
    console.print(table)
    for line in _notes(results):
        console.print(line, highlight=False)


def _add(
    table: Table,
    name: str,
    rows: Mapping[str, Mapping[str, float]],
    reference: str,
    evaluations: int,
    seconds: float,
) -> None:
    for number, (objective, costs) in enumerate(rows.items()):
        change = 100 * (costs["result"] / costs[reference] - 1)
        cells = [cost_text(costs[level]) for level in (*SHOWN, "result")]
        effort = ["", ""] if number else [str(evaluations), f"{seconds:.1f}"]
        unit = UNITS.get(objective, "weighted objective")
        table.add_row("" if number else name, unit, *cells, f"{change:+.1f}%", *effort)


def _short(result: Result, results: Sequence[Result]) -> str:
    """Return a program's file name; all of its name where another file is called the same."""
    name = Path(result.program).name
    return name if sum(Path(other.program).name == name for other in results) == 1 else result.program


def _reference(result: Result) -> str:
    """Return the level that a result is compared with: see burnish.evaluation.confirm."""
    if result.timing:
        return str(result.timing["against"])
    if is_weighted(result.objective):
        return min(result.baselines, key=lambda name: result.baselines[name])
    return result.options.get("level", "Oz")


def _shown(result: Result) -> list[str]:
    """Return what is shown of a result: an older one does not have everything."""
    goal = unlimited(result.objective)
    return [name for name in dict.fromkeys([*MEASURES, goal]) if name in result.beside or name == goal]


def _costs(result: Result, objective: str) -> Mapping[str, float]:
    if objective == unlimited(result.objective):  # within its limit a result's cost is the objective's
        return {"result": result.cost, **result.baselines}
    return result.beside[objective]


def _sum(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) for name in rows[0]}


def _notes(results: Sequence[Result]) -> list[str]:
    """Return what the numbers alone do not say."""
    notes = []
    kept = [_short(result, results) for result in results if result.fallback]
    if kept:
        notes.append(f"Nothing better than clang's own result was found, which is kept: {', '.join(kept)}")
    for result in results:
        if not result.valid:
            notes.append(f"{result.program}: {result.verified[0]}")
        if result.timing:
            notes.append(f"{Path(result.program).name}: {result.objective} {_compared(result.timing)}")
        if "always_inline" in result.options:
            named = f"always_inline = {result.options['always_inline']}"
            notes.append(f"{result.program}: not comparable with clang's levels: {named}")
    for without in sorted({result.options.get("without", "") for result in results} - {""}):
        notes.append(f"Left out of the actions: {without}")
    checks = sorted({check for result in results if result.valid for check in result.verified})
    if checks:
        notes.append(f"Verified: {'; '.join(checks)}.")
    return notes


def _compared(timing: Mapping[str, float | str]) -> str:
    """Write a result's comparison."""
    against, verdict = f"-{timing['against']}", timing["verdict"]
    if not timing["repeats"]:
        return f"{verdict} to {against}"
    interval = ratio_text(float(timing["ratio"]), float(timing["low"]), float(timing["high"]))
    return f"compared with {against}: {verdict}; {interval} at {float(timing['confidence']):.0%} confidence"


def ratio_text(ratio: float, low: float | None, high: float | None) -> str:
    """Write a ratio and its interval, where there is one."""
    return f"{ratio:.3f}" if low is None or high is None else f"{ratio:.3f} [{low:.3f}, {high:.3f}]"
