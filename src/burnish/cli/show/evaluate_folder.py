"""Display of an evaluation's results, as tables or JSON, also later from its folder, and its report."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.console.numbers import ratio_text
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import TableForm, form_of
from burnish.console.tables import Column, TextTable, figures, names, sentences, texts
from burnish.core.decoding import json_object
from burnish.core.errors import InputError, MissingTool
from burnish.core.registry import load_task
from burnish.evaluation.cases import cases_of
from burnish.evaluation.compare import Refused
from burnish.evaluation.importance import effects_of_sample, importances, winning
from burnish.evaluation.report.page import Picture, report_page, svg_of
from burnish.evaluation.report.plots import (
    NAMED_PROGRAMS,
    NARROW,
    WIDE,
    improvement_plot,
    passes_plot,
    programs_plot,
    training_plot,
)
from burnish.evaluation.rows import FAILURE_FACTOR, Row, read_rows
from burnish.evaluation.run_folder import ROWS, read_settings
from burnish.evaluation.statistics import Mean, Pair, all_pairs, summarise, summarise_languages
from burnish.files import read_json_lines, write_atomically
from burnish.learning.training.track import read_log
from burnish.search.budget import written
from burnish.search.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Logs = Mapping[str, Sequence[Mapping[str, Any]]]  # of training runs, by name

REPORT, WORTHS = "report.html", "worths.jsonl"


def show_rows(
    rows: Sequence[Row], refused: Sequence[Refused] = (), *, confidence: float, form: TableForm | None
) -> None:
    """Print the tables; if `form` is None, print a line of JSON for each mean, then for each pair."""
    if form:
        print_tables(rows, refused, confidence=confidence, form=form)
        return
    means = summarise(rows, confidence=confidence)
    for summary in (*means, *summarise_languages(rows, confidence=confidence)):
        print(json.dumps(asdict(summary)))
    for pair in all_pairs(rows, confidence=confidence):
        print(json.dumps({"pair": asdict(pair)}))


def show_folder(options: argparse.Namespace, command: str) -> int:
    """Show the rows of a folder, and write its report; return the exit code.

    Raises:
        InputError: it is not the folder of an evaluation, or has no matching rows.
    """
    folder = options.out
    settings = read_settings(folder)
    rows = _chosen(read_rows(folder / ROWS), options)
    if not rows:
        raise InputError(f"{folder}: there are no such rows")
    if options.worth:
        worths = "".join(f"{json.dumps(item)}\n" for item in _worths(rows, settings, options))
        write_atomically(folder / WORTHS, worths.encode())
    logs = {path.parent.name or path.stem: read_log(path) for path in options.training}
    report = write_report(folder, rows, confidence=options.confidence, command=command, logs=logs)
    form = None if options.json else form_of(options)
    show_rows(rows, confidence=options.confidence, form=form)
    if form:
        form.note(f"wrote {report}")
    return 1 if any(not row.valid for row in rows) else 0


def _chosen(rows: Sequence[Row], options: argparse.Namespace) -> list[Row]:
    """Return the rows that the options select, in the order of budgets and methods."""
    budgets = list(map(written, options.budget or ())) or list(dict.fromkeys(row.budget for row in rows))
    methods = options.only.split(",") if options.only else list(dict.fromkeys(row.method for row in rows))
    return [
        row
        for budget in budgets
        for method in methods
        for row in rows
        if (row.budget, row.method) == (budget, method)
    ]


def _worths(
    rows: Sequence[Row], settings: Mapping[str, Any], options: argparse.Namespace
) -> list[dict[str, float]]:
    """Return the contributions of passes in some winning traces."""
    task = load_task(settings["task"]).configured(settings["options"])
    with SearchProgress("passes", task.label(task.reference), quiet=options.json) as progress:

        def problem_of(row: Row) -> Problem:
            return Problem(task, cases_of([row.program], task)[0].load(), row.objective)

        return effects_of_sample(
            rows,
            problem_of,
            options.worth,
            options.seed,
            note=lambda row: progress.note(f"measuring each pass of {row.method}'s trace of {row.program}"),
        )


def write_report(
    folder: Path,
    rows: Sequence[Row],
    refused: Sequence[Refused] = (),
    *,
    confidence: float,
    command: str,
    logs: Logs | None = None,
) -> Path:
    """Write report.html with its plots, and each plot as an SVG file; return the report's path.

    Without matplotlib there are no plots, and the report has a note on that.
    """
    settings = read_settings(folder)
    notes = [f"Left out: {item.program}: {item.reason}" for item in refused]
    if without := settings.get("options", {}).get("without"):
        notes.append(f"Left out of the actions: {without}")
    rows = _labelled(rows, settings)
    pictures = []
    try:
        for name, (caption, explanation, draw) in _plots(folder, rows, logs or {}, confidence).items():
            wide, narrow = svg_of(draw(width=WIDE)), svg_of(draw(width=NARROW))
            pictures.append(Picture(caption, explanation, wide, narrow))
            (folder / f"{name}.svg").write_text(wide, encoding="utf-8")
    except MissingTool as error:
        notes.append(f"There are no pictures: {error}")
    measured = datetime.fromtimestamp((folder / ROWS).stat().st_mtime, UTC)
    origin = {
        "command": command,
        "date": f"{measured:%Y-%m-%d %H:%M} UTC",
        "machine": ", ".join(sorted({row.machine for row in rows} - {""})) or "unknown",
    }
    page = report_page(
        rows,
        settings,
        pictures,
        notes=notes,
        origin=origin,
        confidence=confidence,
        unit=_unit(rows[0], settings),
    )
    write_atomically(folder / REPORT, page.encode())
    return folder / REPORT


def _unit(row: Row, settings: Mapping[str, Any]) -> str:
    """Return the unit of a row's costs; "" if its task or objective is unknown."""
    try:
        return load_task(settings["task"]).objective(row.objective).unit
    except InputError:
        return ""


def _labelled(rows: Sequence[Row], settings: Mapping[str, Any]) -> list[Row]:
    """Return rows whose baselines have the task's labels, such as -O2; unchanged if the task is unknown."""
    try:
        task = load_task(settings["task"])
    except InputError:
        return list(rows)

    def label(name: str) -> str:
        return task.label(name) if name in task.baselines else name

    return [
        replace(row, reference=label(row.reference), method=label(row.method), fallback=label(row.fallback))
        for row in rows
    ]


def _plots(
    folder: Path, rows: Sequence[Row], logs: Logs, confidence: float
) -> dict[str, tuple[str, str, Callable[..., Figure]]]:
    """Return captions, explanations and plots, by file name without suffix."""
    reference = rows[0].reference
    best = (
        f"Best result so far: geometric mean over programs, with {reference} kept where it is better. "
        f"Points: the end of each budget, with {confidence:.0%} intervals."
    )
    ratios = f"{reference} / method, logarithmic. "
    many = len({row.program for row in rows}) > NAMED_PROGRAMS
    ratios += "Failures are below the scale." if many else "Arrows: beyond the scale. Crosses: failures."
    found: dict[str, tuple[str, str, Callable[..., Figure]]] = {
        "improvement": (
            "Improvement against budget",
            best,
            partial(improvement_plot, rows, confidence=confidence),
        ),
        "programs": (
            f"Programs within {rows[-1].budget}",
            ratios,
            partial(programs_plot, rows),
        ),
    }
    if won := winning(rows):
        path = folder / WORTHS
        worths = read_json_lines(path, json_object, remedy="remove the file") if path.exists() else []
        found["passes"] = (
            "Actions of winning traces",
            f"Share of the traces better than {reference} that have the action.",
            partial(passes_plot, importances(rows, worths), len(won)),
        )
    if logs:
        explanation = "Geometric mean of ratios on validation programs, and the return of training episodes."
        found["training"] = ("Training", explanation, partial(training_plot, logs))
    return found


def print_tables(
    rows: Sequence[Row],
    refused: Sequence[Refused] = (),
    *,
    confidence: float,
    form: TableForm,
) -> None:
    """Print the means, the means by project, the pairs of methods, and notes."""
    tables = []
    for budget in dict.fromkeys(row.budget for row in rows):
        within = [row for row in rows if row.budget == budget]
        tables.append(_means(budget, within, confidence))
    if len({row.project for row in rows}) > 1:
        tables.append(_projects(rows, confidence))
    if pairs := all_pairs(rows, confidence=confidence):
        tables.append(_pairs(pairs, confidence))
    form.show(*tables)
    for line in _notes(rows, refused, confidence):
        form.note(line)


def _means(budget: str, rows: Sequence[Row], confidence: float) -> TextTable:
    """Return a table with a row for each method and, if there are several languages, rows for those."""
    summaries = summarise(rows, confidence=confidence)
    apart = summarise_languages(rows, confidence=confidence)
    programs = len({row.program for row in rows})
    headings = (f"ratio [{confidence:.0%}]", "by project", "guarded", "total", "+ = -", "fail")
    title = f"{budget}: {programs} program{'' if programs == 1 else 's'}"
    table = TextTable((names("method"), *figures(*headings)), title)
    order = [item.method for item in summaries]
    for item in sorted([*summaries, *apart], key=lambda item: order.index(item.method)):
        mean = item.unguarded
        table.add(
            f"  {item.language}: {item.programs}" if item.language else item.method,
            ratio_text(mean.ratio, mean.low, mean.high),
            _by_project(mean),
            f"{item.guarded.ratio:.3f}",
            f"{item.total:.3f}",
            f"{item.wins} {item.ties} {item.losses}",
            str(item.failures or ""),
            group=item.method,
        )
    return table


def _by_project(mean: Mean) -> str:
    if mean.project_low is None or mean.project_high is None:
        return ""
    return f"[{mean.project_low:.3f}, {mean.project_high:.3f}]"


def _projects(rows: Sequence[Row], confidence: float) -> TextTable:
    summaries = summarise(rows, confidence=confidence, by_project=True)
    columns = list(dict.fromkeys((item.budget, item.method) for item in summaries))
    budgets = {budget for budget, _ in columns}
    headings = (method if len(budgets) == 1 else f"{method}\n{budget}" for budget, method in columns)
    table = TextTable((names("project"), Column("", label="programs"), *figures(*headings)))
    cells = {(item.project, item.budget, item.method): item for item in summaries}
    for project in dict.fromkeys(row.project for row in rows):
        found = [cells.get((project, *column)) for column in columns]
        count = max(item.programs for item in found if item)
        table.add(project, str(count), *(f"{item.unguarded.ratio:.3f}" if item else "" for item in found))
    return table


def _pairs(pairs: Sequence[Pair], confidence: float) -> TextTable:
    ratio = f"ratio [{confidence:.0%}]"
    columns = (names("methods"), names("budget"), *figures(ratio, "by project", "+ = -"))
    table = TextTable((*columns, texts("", label="verdict")))
    for item in pairs:
        mean = item.mean
        table.add(
            f"{item.first} / {item.second}",
            item.budget,
            ratio_text(mean.ratio, mean.low, mean.high),
            _by_project(mean),
            f"{item.wins} {item.ties} {item.losses}",
            "" if mean.low is None else "different" if item.differs else "unclear",
        )
    return table


def _notes(rows: Sequence[Row], refused: Sequence[Refused], confidence: float) -> list[str]:
    ratios = (
        f"Ratios of {rows[0].objective}, {rows[0].reference} / method: above 1 the method is "
        "better. Means are geometric. Guarded: the reference is kept if nothing better was found. "
        "Intervals are bootstrapped over programs, and over whole projects."
    )
    notes = [ratios]
    failed = [row for row in rows if not row.valid]
    if failed:
        notes.append(
            f"{len(failed)} failures count as the unoptimized program, and at least {FAILURE_FACTOR:g} times "
            f"the reference: {failed[0].method} on {failed[0].program}: {failed[0].failure}"
        )
    late = max(rows, key=lambda row: row.overrun)
    if late.overrun:
        share = late.overrun / (late.budget_seconds or 1.0)
        notes.append(
            f"Longest overrun of a budget: {late.overrun:.2f} s ({share:.1%}), "
            f"{late.method} on {late.program}."
        )
    notes += [f"Left out: {item.program}: {item.reason}" for item in refused]
    return [*notes, *sentences((row.program, row.checks) for row in rows)]
