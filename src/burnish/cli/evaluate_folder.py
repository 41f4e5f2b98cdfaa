"""burnish evaluate FOLDER: what methods came to, once more, and the report."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from burnish.cli.evaluation_report import write_report, write_worths
from burnish.cli.evaluation_tables import print_tables
from burnish.cli.progress import SearchProgress
from burnish.cli.results import task_named
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.evaluation.cases import cases_of
from burnish.evaluation.importance import worth_of_sample
from burnish.evaluation.rows import Row, read_rows
from burnish.evaluation.run_folder import ROWS, read_settings
from burnish.evaluation.statistics import CONFIDENCE, all_pairs, summarise, summarise_languages
from burnish.search.budget import written
from burnish.training.track import read_log


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    settings = read_settings(options.folder)
    rows = _chosen(read_rows(options.folder / ROWS), options)
    if not rows:
        raise InputError(f"{options.folder}: there are no such rows")
    if options.worth:
        task = task_named(settings["task"], settings["options"])
        with SearchProgress("passes", task.label(task.reference), quiet=options.json) as progress:

            def load(name: str) -> Program:
                return cases_of([name], task)[0].load()

            def note(row: Row) -> None:
                progress.note(f"taking apart {row.method}'s trace of {row.program}")

            worths = worth_of_sample(task, rows, load, options.worth, options.seed, note=note)
        write_worths(options.folder, worths)
    logs = {path.parent.name or path.stem: read_log(path) for path in options.training}
    report = write_report(options.folder, rows, confidence=options.confidence, logs=logs)
    if options.json:
        means = summarise(rows, confidence=options.confidence)
        for summary in (*means, *summarise_languages(rows, confidence=options.confidence)):
            print(json.dumps(asdict(summary)))
        for pair in all_pairs(rows, confidence=options.confidence):
            print(json.dumps({"pair": asdict(pair)}))
    else:
        print_tables(rows, confidence=options.confidence)
        print(f"wrote {report}")
    return 1 if any(not row.valid for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish evaluate",
        description="Show what methods came to in a folder of burnish evaluate --methods, and write its "
        "report: report.html, which opens from disk, and its pictures. Exit code 1 if anything failed.",
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="what --out named")
    add("--only", metavar="LIST", help="these methods alone, in this order, with commas")
    add("--budget", action="append", metavar="BUDGET", help="these budgets alone; may be repeated")
    worth = "take N winning traces apart, to see what passes are worth"
    add("--worth", type=int, default=0, metavar="N", help=worth)
    training = "log.jsonl of burnish train; may be repeated"
    add("--training", type=Path, action="append", default=[], metavar="LOG", help=training)
    add("--seed", type=int, default=0, help="of the traces that are taken apart")
    add("--confidence", type=float, default=CONFIDENCE, help=f"of the intervals; default: {CONFIDENCE}")
    add("--json", action="store_true", help="print one line of JSON for each mean, then for each pair")
    return parser


def _chosen(rows: Sequence[Row], options: argparse.Namespace) -> list[Row]:
    """Return the rows that are asked for, in the order of budgets and methods."""
    budgets = list(map(written, options.budget or ())) or list(dict.fromkeys(row.budget for row in rows))
    methods = options.only.split(",") if options.only else list(dict.fromkeys(row.method for row in rows))
    return [
        row
        for budget in budgets
        for method in methods
        for row in rows
        if (row.budget, row.method) == (budget, method)
    ]
