"""burnish leaderboard: verification of a leaderboard's entries."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from burnish.cli.jobs.arguments import add_limits, limits_of
from burnish.console.command_parser import SEED, CommandParser, whole_number
from burnish.console.numbers import ratio_text
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import add_table_form, form_of
from burnish.console.tables import TextTable, figures, names, texts
from burnish.core.errors import InputError
from burnish.core.registry import load_task
from burnish.evaluation.cases import cases_of
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.leaderboard import CONTENT, Entry, read_leaderboard
from burnish.evaluation.verify import Replays, verify_entry


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse(arguments)
    entries = read_leaderboard(options.leaderboard)
    if not entries:
        raise InputError(f"{options.leaderboard}: the file is empty; expected {CONTENT}")
    form = form_of(options)
    problems: dict[int, list[str]] = {}
    unknown: dict[int, str] = {}  # the reason why an entry cannot be verified here, by its number
    for number, entry in enumerate(entries):
        try:
            problems[number] = _verify(options, entry)
        except InputError as error:
            unknown[number] = str(error)
        found = problems.get(number, [])
        if options.json:
            why = unknown.get(number, "")
            print(json.dumps({"entry": asdict(entry), "problems": found, "unverified": why}), flush=True)
        for problem in () if options.json else found:
            form.note(f"{entry.name}, {entry.budget}: {problem}")
    if not options.json:
        form.show(_table(entries, problems))
        for why, count in Counter(unknown.values()).items():
            form.note(f"not verified here: {count} entr{'y' if count == 1 else 'ies'}: {why}")
    return 1 if any(problems.values()) else 0 if problems else 2


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish leaderboard",
        description="Verify a leaderboard. The rows must be those of its entries and cover the programs that "
        "the entries name. Every trace and every reference is replayed in new processes and "
        "measured again, and the figures must follow. Exit code 1 if anything differs, 2 if no "
        "entry can be verified here: for example, its task has another version, or its corpus is "
        "missing.",
    )
    add = parser.add_argument
    add("leaderboard", type=Path, metavar="FILE", help="what burnish evaluate wrote with --append")
    add(
        "--sample",
        type=whole_number(0),
        metavar="N",
        help="replay only N rows of each entry, drawn by the seed",
    )
    add("--seed", type=SEED, default=0)
    add_table_form(parser, json="print one line of JSON for each entry")
    add_limits(parser)
    return parser


def _verify(options: argparse.Namespace, entry: Entry) -> list[str]:
    """Return the differences between an entry and its verification."""
    task = load_task(entry.task).configured(entry.options)
    cases = cases_of(entry.programs, task)
    here = toolchain(task)
    differing = [
        f"made with {name} {version}, not {here.get(name)} as here"
        for name, version in entry.toolchain.items()
        if here.get(name) != version
    ]
    with SearchProgress(f"{entry.name}, {entry.budget}", "", quiet=options.json) as progress:
        found = list(
            verify_entry(
                options.leaderboard,
                entry,
                task,
                cases,
                replays=Replays(options.sample, options.seed, limits_of(options)),
                note=lambda row: progress.note(f"replaying {row.program}"),
            )
        )
    # A different toolchain is not an error in itself; it only explains differences.
    return [*found, *differing] if found else []


def _table(entries: Sequence[Entry], problems: dict[int, list[str]]) -> TextTable:
    columns = (names("name"), names("programs"), names("objective"), names("budget"))
    table = TextTable((*columns, *figures("ratio", "+ = -", "fail"), texts("", label="outcome")))
    order = sorted(
        range(len(entries)),
        key=lambda i: (entries[i].digest, entries[i].objective, entries[i].budget, -entries[i].ratio),
    )
    for number in order:
        item, found = entries[number], problems.get(number)
        differences = f"{len(found)} difference{'' if len(found) == 1 else 's'}" if found else "verified"
        table.add(
            item.name,
            f"{' '.join(item.programs)} ({item.count})",
            item.objective,
            item.budget,
            ratio_text(item.ratio, item.low, item.high),
            f"{item.wins} {item.ties} {item.losses}",
            str(item.failures or ""),
            "not here" if found is None else differences,
        )
    return table
