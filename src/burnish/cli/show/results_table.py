"""Results in a table of 80 columns: what was there, what came, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from burnish.cli.show.numbers import cost_text, ratio_text
from burnish.cli.show.tables import heading_of, narrow_table
from burnish.core.limit import unlimited
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.core.weighted import is_weighted

MOST_BASELINES = 3  # that fit on 80 columns


def results_table(results: Sequence[Result], task: Task) -> None:
    """Print what is always shown and what was minimised under some baselines and burnish, and in total.

    Args:
        results: Of one task.
        task: It, with any options.
    """
    _ResultsTable(task, results).print()


class _ResultsTable:
    """Results of one task, in a table of 80 columns."""

    def __init__(self, task: Task, results: Sequence[Result]) -> None:
        self._task = task
        self._results = results
        self._baselines = task.shown.baselines or tuple(task.baselines)[:MOST_BASELINES]
        self._table = narrow_table()

    def print(self) -> None:
        """Print it, and below it what the numbers alone do not say."""
        console, table = Console(), self._table
        table.add_column("program", overflow="fold", min_width=11)
        table.add_column("", no_wrap=True)
        for name in self._baselines:
            table.add_column(self._task.label(name), justify="right")
        table.add_column("burnish", justify="right", style="bold", no_wrap=True)
        references = dict.fromkeys(map(self._reference, self._results))
        table.add_column(f"to {' / '.join(map(self._task.label, references))}", justify="right", no_wrap=True)
        table.add_column("evals", justify="right", no_wrap=True)
        table.add_column("sec", justify="right", no_wrap=True)
        for result in self._results:
            rows = {name: _costs(result, name) for name in self._shown(result)}
            effort = (result.evaluations, result.seconds)
            self._add(_short(result, self._results), rows, self._reference(result), effort)
        if len(self._results) > 1 and len(references) == 1:
            self._add_sums(next(iter(references)))
        console.print(table)
        for line in self._notes():
            console.print(line, highlight=False)

    def _add_sums(self, reference: str) -> None:
        self._table.add_section()
        shown = [set(self._shown(result)) for result in self._results]
        common = [name for name in self._task.shown.objectives if all(name in names for names in shown)]
        sums = {name: _sum([_costs(result, name) for result in self._results]) for name in common}
        evaluations = sum(result.evaluations for result in self._results)
        seconds = sum(result.seconds for result in self._results)
        self._add(f"all {len(self._results)}", sums, reference, (evaluations, seconds))

    def _add(
        self, name: str, rows: Mapping[str, Mapping[str, float]], reference: str, effort: tuple[int, float]
    ) -> None:
        evaluations, seconds = effort
        for number, (objective, costs) in enumerate(rows.items()):
            change = 100 * (costs["result"] / costs[reference] - 1)
            cells = [
                cost_text(costs[level]) if level in costs else "" for level in (*self._baselines, "result")
            ]
            last = ["", ""] if number else [str(evaluations), f"{seconds:.1f}"]
            unit = "weighted objective" if is_weighted(objective) else heading_of(self._task, objective)
            self._table.add_row("" if number else name, unit, *cells, f"{change:+.1f}%", *last)

    def _reference(self, result: Result) -> str:
        """Return the baseline that a result is compared with: see burnish.evaluation.confirm."""
        if result.timing:
            return str(result.timing["against"])
        if is_weighted(result.objective):
            return min(result.baselines, key=lambda name: result.baselines[name])
        return self._task.configured(result.options).reference

    def _shown(self, result: Result) -> list[str]:
        """Return what is shown of a result: an older one does not have everything."""
        goal = unlimited(result.objective)
        names = dict.fromkeys([*self._task.shown.objectives, goal])
        return [name for name in names if name in result.beside or name == goal]

    def _notes(self) -> list[str]:
        """Return what the numbers alone do not say."""
        results, notes = self._results, []
        kept = [_short(result, results) for result in results if result.fallback]
        if kept:
            names = dict.fromkeys(self._task.label(result.fallback) for result in results if result.fallback)
            which = " and ".join(names)
            notes.append(f"Nothing better than {which} was found, whose result is kept: {', '.join(kept)}")
        for result in results:
            if not result.valid:
                notes.append(f"{result.program}: {result.verified[0]}")
            if result.timing:
                notes.append(
                    f"{Path(result.program).name}: {result.objective} {self._compared(result.timing)}"
                )
        for setting in self._task.settings.settings:
            values = sorted({result.options.get(setting.name, "") for result in results} - {""})
            notes += [setting.note.format(value) for value in values if setting.note]
        checks = sorted({check for result in results if result.valid for check in result.verified})
        if checks:
            notes.append(f"Verified: {'; '.join(checks)}.")
        return notes

    def _compared(self, timing: Mapping[str, float | str]) -> str:
        """Write a result's comparison."""
        against, verdict = self._task.label(str(timing["against"])), timing["verdict"]
        if not timing["repeats"]:
            return f"{verdict} to {against}"
        interval = ratio_text(float(timing["ratio"]), float(timing["low"]), float(timing["high"]))
        confidence = f"{float(timing['confidence']):.0%} confidence"
        return f"compared with {against}: {verdict}; {interval} at {confidence}"


def _short(result: Result, results: Sequence[Result]) -> str:
    """Return a program's file name; all of its name where another file is called the same."""
    name = Path(result.program).name
    return name if sum(Path(other.program).name == name for other in results) == 1 else result.program


def _costs(result: Result, objective: str) -> Mapping[str, float]:
    if objective == unlimited(result.objective):  # within its limit a result's cost is the objective's
        return {"result": result.cost, **result.baselines}
    return result.beside[objective]


def _sum(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) for name in rows[0]}
