"""burnish leaderboard: is what a leaderboard says so?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from burnish.cli.jobs.arguments import add_limits, limits_of
from burnish.cli.jobs.command_parser import COUNT, SEED, CommandParser
from burnish.cli.jobs.results import task_named
from burnish.cli.show.numbers import ratio_text
from burnish.cli.show.progress import SearchProgress
from burnish.cli.show.tables import narrow_table
from burnish.core.errors import InputError
from burnish.evaluation.cases import cases_of
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.leaderboard import CONTENT, Entry, read_leaderboard
from burnish.evaluation.rows import Row
from burnish.evaluation.verify import Replays, verify_entry


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse(arguments)
    entries = read_leaderboard(options.leaderboard)
    if not entries:
        raise InputError(f"{options.leaderboard}: the file is empty; expected {CONTENT}")
    problems: dict[int, list[str]] = {}
    for number, entry in enumerate(entries):
        problems[number] = []
        for problem in _verify(options, entry):
            problems[number].append(problem)
            if not options.json:
                print(f"{entry.name}, {entry.budget}: {problem}", flush=True)
        if options.json:
            print(json.dumps({"entry": asdict(entry), "problems": problems[number]}), flush=True)
    if not options.json:
        Console(highlight=False).print(_table(entries, problems))
    return 1 if any(problems.values()) else 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish leaderboard",
        description="Verify a leaderboard: the rows are those that its entries were made of and cover the "
        "programs that they name; every trace is replayed in new processes and measured anew, and so are the "
        "references; the figures follow from that. Exit code 1 if anything differs.",
    )
    add = parser.add_argument
    add("leaderboard", type=Path, metavar="FILE", help="what burnish evaluate wrote with --append")
    add("--sample", type=COUNT, metavar="N", help="replay only so many rows of each entry, drawn by the seed")
    add("--seed", type=SEED, default=0)
    add("--json", action="store_true", help="print one line of JSON for each entry")
    add_limits(parser)
    return parser


def _verify(options: argparse.Namespace, entry: Entry) -> list[str]:
    try:
        task = task_named(entry.task, entry.options)
        cases = cases_of(entry.programs, task)
    except InputError as error:
        return [f"cannot be verified here: {error}"]
    here = toolchain(task)
    differing = [
        f"made with {name} {version}, here is {here.get(name)}"
        for name, version in entry.toolchain.items()
        if here.get(name) != version
    ]
    with SearchProgress(f"{entry.name}, {entry.budget}", "", quiet=options.json) as progress:

        def note(row: Row) -> None:
            progress.note(f"replaying {row.program}")

        found = list(
            verify_entry(
                options.leaderboard,
                entry,
                task,
                cases,
                replays=Replays(options.sample, options.seed, limits_of(options)),
                note=note,
            )
        )
    # Another toolchain is no fault in itself: it explains what differs.
    return [*found, *differing] if found else []


def _table(entries: Sequence[Entry], problems: dict[int, list[str]]) -> Table:
    table = narrow_table()
    for name in ("name", "programs", "objective", "budget"):
        table.add_column(name, overflow="fold")
    for name in ("ratio", "+ = -", "fail"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", min_width=len("verified"))
    order = sorted(
        range(len(entries)),
        key=lambda i: (entries[i].digest, entries[i].objective, entries[i].budget, -entries[i].ratio),
    )
    for number in order:
        item = entries[number]
        table.add_row(
            item.name,
            f"{' '.join(item.programs)} ({item.count})",
            item.objective,
            item.budget,
            ratio_text(item.ratio, item.low, item.high),
            f"{item.wins} {item.ties} {item.losses}",
            str(item.failures or ""),
            f"{len(problems[number])} differences" if problems[number] else "verified",
        )
    return table
