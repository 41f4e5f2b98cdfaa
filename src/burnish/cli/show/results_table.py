"""A table of results: baselines, result, and confidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from burnish.console.numbers import cost_text, ratio_text
from burnish.console.table_forms import TableForm
from burnish.console.tables import Column, TextTable, figures, heading_of, held_for, names, texts
from burnish.core.objective import parse_objective
from burnish.core.result import Result
from burnish.core.task import Task

Costs = Mapping[str, Mapping[str, float]]  # by objective, then by baseline or "result"

MOST_BASELINES = 3  # more do not fit on 80 columns


def results_table(results: Sequence[Result], task: Task, form: TableForm) -> None:
    """Print the task's usual objectives and the minimised one, for baselines and burnish, with totals."""
    baselines = task.shown.baselines or tuple(task.baselines)[:MOST_BASELINES]
    references = dict.fromkeys(_reference(result, task) for result in results)
    table = TextTable(
        (
            names("program", once=True),
            texts("", label="objective"),
            *figures(*map(task.label, baselines)),
            Column("burnish", bold=True),
            *figures(f"to {' / '.join(map(task.label, references))}"),
            *figures("evals", "sec", once=True),
        )
    )

    def rows(
        name: str, by_objective: Costs, reference: str, evaluations: int, seconds: float
    ) -> Iterator[tuple[str, ...]]:
        for objective, costs in by_objective.items():
            weighted = parse_objective(objective).is_weighted
            unit = "weighted objective" if weighted else heading_of(task, objective)
            cells = (cost_text(costs[level]) if level in costs else "" for level in (*baselines, "result"))
            change = f"{100 * (costs['result'] / costs[reference] - 1):+.1f}%"
            yield (name, unit, *cells, change, str(evaluations), f"{seconds:.1f}")

    for number, result in enumerate(results):
        costs = {name: _costs(result, name) for name in _shown(result, task)}
        reference, name = _reference(result, task), _short(result, results)
        for row in rows(name, costs, reference, result.evaluations, result.seconds):
            table.add(*row, group=number)
    if len(results) > 1 and len(references) == 1:
        table.end_section()
        shown = [set(_shown(result, task)) for result in results]
        common = [name for name in task.shown.objectives if all(name in known for known in shown)]
        sums = {name: _sum([_costs(result, name) for result in results]) for name in common}
        effort = sum(result.evaluations for result in results), sum(result.seconds for result in results)
        name, (reference,) = f"all {len(results)}", references
        for row in rows(name, sums, reference, *effort):
            table.add_total(*row, group=name)
    form.show(table)
    for line in _notes(results, task):
        form.note(line)


def _reference(result: Result, task: Task) -> str:
    """Return the baseline that a result is compared with; see burnish.evaluation.confirm."""
    if result.timing:
        return str(result.timing["against"])
    if parse_objective(result.objective).is_weighted:
        return min(result.baselines, key=lambda name: result.baselines[name])
    return task.configured(result.options).reference


def _shown(result: Result, task: Task) -> list[str]:
    """Return the objectives to show for a result; results of older versions do not have all."""
    goal = parse_objective(result.objective).unlimited
    names = dict.fromkeys([*task.shown.objectives, goal])
    return [name for name in names if name in result.beside or name == goal]


def _notes(results: Sequence[Result], task: Task) -> list[str]:
    """Return the notes: kept baselines, failures, confidence, settings and checks."""
    notes = []
    if kept := [_short(result, results) for result in results if result.fallback]:
        names = dict.fromkeys(task.label(result.fallback) for result in results if result.fallback)
        which = " and ".join(names)
        notes.append(f"Nothing better than {which} was found, whose result is kept: {', '.join(kept)}")
    for result in results:
        if not result.valid:
            notes.append(f"{result.program}: {result.verified[0]}")
        if result.timing:
            compared = _compared(result.timing, task)
            notes.append(f"{Path(result.program).name}: {result.objective} {compared}")
    for setting in task.settings.settings:
        values = sorted({result.options.get(setting.name, "") for result in results} - {""})
        notes += [setting.note.format(value) for value in values if setting.note]
    if checks := held_for((_short(one, results), one.verified) for one in results if one.valid):
        notes.append(f"Verified: {'; '.join(checks)}.")
    return notes


def _compared(timing: Mapping[str, float | str], task: Task) -> str:
    """Return a result's comparison by time, as text."""
    against, verdict = task.label(str(timing["against"])), timing["verdict"]
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
