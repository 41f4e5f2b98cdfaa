"""A table of results: baselines, result, and confidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from burnish.console.numbers import cost_text, ratio_text
from burnish.console.table_forms import AS_TABLE, TableForm
from burnish.console.tables import Column, TextTable, figures, heading_of, held_for, names, texts
from burnish.core.objective import parse_objective
from burnish.core.result import Result
from burnish.core.task import Task

MOST_BASELINES = 3  # more do not fit on 80 columns


def results_table(results: Sequence[Result], task: Task, form: TableForm = AS_TABLE) -> None:
    """Print the task's usual objectives and the minimised one, for baselines and burnish, with totals.

    Args:
        results: Results of one task.
        task: That task, with any options.
        form: The form of the table.
    """
    _ResultsTable(task, results).print(form)


class _ResultsTable:
    """Results of one task in a table."""

    def __init__(self, task: Task, results: Sequence[Result]) -> None:
        self._task = task
        self._results = results
        self._baselines = task.shown.baselines or tuple(task.baselines)[:MOST_BASELINES]
        self._references = dict.fromkeys(map(self._reference, results))
        self._table = TextTable(
            (
                names("program", once=True),
                texts("", label="objective"),
                *figures(*map(task.label, self._baselines)),
                Column("burnish", bold=True),
                *figures(f"to {' / '.join(map(task.label, self._references))}"),
                *figures("evals", "sec", once=True),
            )
        )

    def print(self, form: TableForm) -> None:
        """Print the table, and notes below it."""
        for number, result in enumerate(self._results):
            rows = {name: _costs(result, name) for name in self._shown(result)}
            effort = (result.evaluations, result.seconds)
            name, reference = _short(result, self._results), self._reference(result)
            for cells in self._cells(name, rows, reference, effort):
                self._table.add(*cells, group=number)
        if len(self._results) > 1 and len(self._references) == 1:
            self._add_sums(next(iter(self._references)))
        form.show(self._table)
        for line in self._notes():
            form.note(line)

    def _add_sums(self, reference: str) -> None:
        self._table.end_section()
        shown = [set(self._shown(result)) for result in self._results]
        common = [name for name in self._task.shown.objectives if all(name in names for names in shown)]
        sums = {name: _sum([_costs(result, name) for result in self._results]) for name in common}
        evaluations = sum(result.evaluations for result in self._results)
        seconds = sum(result.seconds for result in self._results)
        name = f"all {len(self._results)}"
        for cells in self._cells(name, sums, reference, (evaluations, seconds)):
            self._table.add_total(*cells, group=name)

    def _cells(
        self, name: str, rows: Mapping[str, Mapping[str, float]], reference: str, effort: tuple[int, float]
    ) -> Iterator[tuple[str, ...]]:
        """Yield a row for each objective."""
        evaluations, seconds = effort
        for objective, costs in rows.items():
            change = 100 * (costs["result"] / costs[reference] - 1)
            levels = (*self._baselines, "result")
            cells = (cost_text(costs[level]) if level in costs else "" for level in levels)
            unit = (
                "weighted objective"
                if parse_objective(objective).is_weighted
                else heading_of(self._task, objective)
            )
            yield (name, unit, *cells, f"{change:+.1f}%", str(evaluations), f"{seconds:.1f}")

    def _reference(self, result: Result) -> str:
        """Return the baseline that a result is compared with; see burnish.evaluation.confirm."""
        if result.timing:
            return str(result.timing["against"])
        if parse_objective(result.objective).is_weighted:
            return min(result.baselines, key=lambda name: result.baselines[name])
        return self._task.configured(result.options).reference

    def _shown(self, result: Result) -> list[str]:
        """Return the objectives to show for a result; results of older versions do not have all."""
        goal = parse_objective(result.objective).unlimited
        names = dict.fromkeys([*self._task.shown.objectives, goal])
        return [name for name in names if name in result.beside or name == goal]

    def _notes(self) -> list[str]:
        """Return the notes: kept baselines, failures, confidence, settings and checks."""
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
        checks = held_for((_short(one, results), one.verified) for one in results if one.valid)
        if checks:
            notes.append(f"Verified: {'; '.join(checks)}.")
        return notes

    def _compared(self, timing: Mapping[str, float | str]) -> str:
        """Return a result's comparison by time, as text."""
        against, verdict = self._task.label(str(timing["against"])), timing["verdict"]
        if not timing["repeats"]:
            return f"{verdict} to {against}"
        interval = ratio_text(float(timing["ratio"]), float(timing["low"]), float(timing["high"]))
        confidence = f"{float(timing['confidence']):.0%} confidence"
        return f"compared with {against}: {verdict}; {interval} at {confidence}"


def _short(result: Result, results: Sequence[Result]) -> str:
    """Return a program's file name, or its full name if several have the same file name."""
    name = Path(result.program).name
    return name if sum(Path(other.program).name == name for other in results) == 1 else result.program


def _costs(result: Result, objective: str) -> Mapping[str, float]:
    if objective == parse_objective(result.objective).unlimited:  # within limits, the cost is the objective's
        return {"result": result.cost, **result.baselines}
    return result.beside[objective]


def _sum(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) for name in rows[0]}
