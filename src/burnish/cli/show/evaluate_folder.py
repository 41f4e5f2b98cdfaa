"""Display of an evaluation's results, as tables or JSON, also later from its folder."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from burnish.cli.jobs.results import task_named
from burnish.cli.show.evaluate_report import write_report, write_worths
from burnish.cli.show.evaluate_tables import print_tables
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import TableForm, form_of
from burnish.core.errors import InputError
from burnish.evaluation.cases import cases_of
from burnish.evaluation.compare import Refused
from burnish.evaluation.importance import effects_of_sample
from burnish.evaluation.rows import Row, read_rows
from burnish.evaluation.run_folder import ROWS, read_settings
from burnish.evaluation.statistics import all_pairs, summarise, summarise_languages
from burnish.learning.training.track import read_log
from burnish.search.budget import written
from burnish.search.problem import Problem


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


def show_folder(options: argparse.Namespace) -> int:
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
        write_worths(folder, _worths(rows, settings, options))
    logs = {path.parent.name or path.stem: read_log(path) for path in options.training}
    report = write_report(folder, rows, confidence=options.confidence, logs=logs)
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
    task = task_named(settings["task"], settings["options"])
    with SearchProgress("passes", task.label(task.reference), quiet=options.json) as progress:

        def problem_of(row: Row) -> Problem:
            return Problem(task, cases_of([row.program], task)[0].load(), row.objective)

        def note(row: Row) -> None:
            progress.note(f"measuring each pass of {row.method}'s trace of {row.program}")

        return effects_of_sample(rows, problem_of, options.worth, options.seed, note=note)
