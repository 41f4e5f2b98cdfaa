"""The modules that a command measures, and their table."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator, Sequence

from burnish.console.command_parser import COUNT, SEED, CommandParser
from burnish.console.table_forms import form_of
from burnish.console.tables import TextTable, figures, names
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.evaluation.against import Against, summary_of
from burnish.llvm.corpora.references import resolve


def add_programs(parser: CommandParser, objective: str) -> None:
    """Add the options that choose modules, and the objective, whose default is named."""
    parser.add_argument("programs", nargs="+", help="files, or references such as corpus:val")
    parser.add_argument("--objective", help=f"default: {objective}")
    parser.add_argument("--match", default="", metavar="REGEX", help="only modules with such names")
    number = parser.add_mutually_exclusive_group()
    number.add_argument("--count", type=COUNT, metavar="N", help="only N modules, drawn with the seed")
    number.add_argument(
        "--sampling-rate", type=_rate, metavar="SHARE", help="only this share of the modules, such as 0.1"
    )
    parser.add_argument("--seed", type=SEED, default=0)


def chosen_programs(options: argparse.Namespace) -> Iterator[Program]:
    """Yield the chosen modules."""
    import numpy as np

    wanted = pattern_of("--match", options.match)
    found = [(part, i) for text in options.programs for part in [resolve(text)] for i in range(len(part))]
    count = options.count
    if options.sampling_rate:
        found = [(part, i) for part, i in found if not options.match or wanted.search(part[i].name)]
        count = math.ceil(options.sampling_rate * len(found))
    order = np.random.default_rng(options.seed).permutation(len(found)) if count else range(len(found))
    left = count or len(found)
    for number in order:
        part, i = found[int(number)]
        if left and wanted.search(part[i].name):
            left -= 1
            yield part[i]


def pattern_of(option: str, text: str) -> re.Pattern[str]:
    """Return the regular expression of an option."""
    try:
        return re.compile(text)
    except re.error as error:
        raise InputError(f"{option} {text}: {error}") from None


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate <= 1:
        raise InputError(f"{text}: expected a share above 0 and up to 1, such as 0.1")
    return rate


def modules_table(rows: Iterable[Against]) -> TextTable:
    """Return a table with a row for each module, the policy's best modules first."""
    table = TextTable((names("module"), *figures("questions", "others", "heuristic", "policy", "ratio")))
    for row in sorted(rows, key=lambda row: -row.ratio):
        costs = f"{row.heuristic:g}", f"{row.policy:g}", f"{row.ratio:.4f}"
        table.add(row.program, str(row.questions), str(row.others), *costs)
    return table


def show_comparison(rows: Sequence[Against], objective: str, options: argparse.Namespace) -> None:
    """Print the table of modules, and the summary with its interval."""
    total = summary_of(rows)
    form = form_of(options)
    form.show(modules_table(rows))
    form.note(
        f"{total.modules} modules: heuristic / policy {total.ratio:.4f} [{total.low:.4f}, {total.high:.4f}], "
        f"total {total.total:.4f}; {total.better} better, {total.worse} worse ({objective}, no search)"
    )
