"""Printing of all tables of the command line: for a terminal or a pipe, as Markdown or as CSV.

A pipe has no width, so nothing is shortened there and a search for a name finds it.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from burnish.console.table_layout import Grid, clean, fitted, lines_of_rows
from burnish.console.tables import TableRow, TextTable
from burnish.core.errors import UnknownName

TABLE, MARKDOWN, CSV = FORMS = ("table", "markdown", "csv")
_FIGURE = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def add_table_form(parser: argparse.ArgumentParser, *, json: str = "") -> None:
    """Add --format, --sort and --reverse, and --json with the given help if the command prints JSON."""
    group = parser.add_mutually_exclusive_group()
    if json:
        group.add_argument("--json", action="store_true", help=json)
    text = "of tables: table (default, for reading), markdown or csv"
    group.add_argument("--format", default=TABLE, choices=FORMS, metavar="FORM", help=text)
    parser.add_argument(
        "--sort", default="", metavar="COLUMN", help="sort tables by this column, smallest first"
    )
    parser.add_argument("--reverse", action="store_true", help="with --sort: largest first")


def form_of(options: argparse.Namespace) -> TableForm:
    """Return the form of tables that the options choose."""
    return TableForm(options.format, options.sort, options.reverse)


@dataclass(frozen=True)
class TableForm:
    """The form, order and destination of printed tables."""

    form: str = TABLE
    sort: str = ""  # a column's name; "": keep the rows' order
    reverse: bool = False
    console: Console | None = None  # None: standard output

    def show(self, *tables: TextTable) -> None:
        """Print tables in this form and order; warn if no table has the column to sort by."""
        for number, table in enumerate(tables):
            if number and self.form == CSV:
                _write(self._console(), "")
            self._show(replace(table, rows=self._sorted(table)))
        labels = dict.fromkeys(column.name for table in tables for column in table.columns if column.name)
        if self.sort and all(_column(table, self.sort) is None for table in tables):
            unknown = UnknownName.among("column", self.sort, labels)
            print(f"burnish: --sort {self.sort}: {unknown}; nothing was sorted", file=sys.stderr)

    def note(self, text: str) -> None:
        """Print a line about a table: below the table, or on standard error for CSV."""
        console = self._console()
        if self.form == CSV:
            print(text, file=sys.stderr)
        elif self.form == MARKDOWN:
            _write(console, f"{text}\n")
        elif console.is_terminal:
            console.print(text, markup=False, highlight=False)
        else:
            _write(console, text)

    def _console(self) -> Console:
        return self.console or Console(highlight=False)

    def _sorted(self, table: TextTable) -> list[TableRow]:
        number = _column(table, self.sort) if self.sort else None
        if number is None:
            return table.rows
        kind = table.columns[number].kind
        first: dict[Hashable, tuple[bool, float, str]] = {}
        for row in table.rows:
            if row.cells[number] or row.group not in first:
                key = _key(row.cells[number], figure=kind == "figure")
                first[row.group] = min(first.get(row.group, key), key)
        ordered: list[TableRow] = []
        for section in dict.fromkeys(row.section for row in table.rows):
            inside = [row for row in table.rows if row.section == section and not row.total]
            inside.sort(key=lambda row: first[row.group][1:], reverse=self.reverse)
            inside.sort(key=lambda row: first[row.group][0])  # stable: rows without a figure come last
            ordered += inside + [row for row in table.rows if row.section == section and row.total]
        return ordered

    def _show(self, table: TextTable) -> None:
        console = self._console()
        if self.form == MARKDOWN:
            _write(console, "\n".join([*_title(table, "{}\n"), *_markdown(table), ""]))
        elif self.form == CSV:
            _write(console, _csv(table))
        elif console.is_terminal:
            dots = "..." if console.options.ascii_only else "…"
            for line in _title(table, "\n{}"):
                console.print(line, markup=False, highlight=False)
            if grid := fitted(table, console.width, dots):
                console.print(_rich(grid), width=grid.width)
            else:
                text = "\n".join(lines_of_rows(table, console.width, dots))
                console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            _write(console, "\n".join([*_title(table, "\n{}"), *_plain(table)]))


def _column(table: TextTable, name: str) -> int | None:
    """Return the number of the column with a name or a unique prefix of one; None if there is none."""
    labels = [column.name.lower() for column in table.columns]
    wanted = name.lower()
    if wanted in labels:
        return labels.index(wanted)
    found = [number for number, label in enumerate(labels) if label.startswith(wanted)]
    return found[0] if len(found) == 1 else None


def _key(cell: str, *, figure: bool) -> tuple[bool, float, str]:
    """Return the sort key of a cell: (whether it is empty, its first figure, its text)."""
    if not figure:
        return not cell, 0.0, cell.casefold()
    found = _FIGURE.search(cell)
    return found is None, float(found[0].replace(",", "")) if found else 0.0, ""


def _title(table: TextTable, form: str) -> Iterable[str]:
    return [form.format(table.title)] if table.title else []


def _markdown(table: TextTable) -> list[str]:
    rules = ("---:" if column.kind == "figure" else "---" for column in table.columns)
    lines = [[" ".join(column.heading.split()) for column in table.columns], list(rules)]
    lines += [[clean(cell).replace("|", r"\|") for cell in row.cells] for row in table.rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def _csv(table: TextTable) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    for row in table.rows:
        if not row.total:
            writer.writerow(
                [
                    _THOUSANDS.sub("", cell) if column.kind == "figure" else clean(cell)
                    for column, cell in zip(table.columns, row.cells, strict=True)
                ]
            )
    return text.getvalue().removesuffix("\n")


def _plain(table: TextTable) -> list[str]:
    """Return the lines of a table at full width, without shortening."""
    grid = fitted(table, None)
    assert grid
    text = io.StringIO()
    Console(file=text, width=grid.width, color_system=None, highlight=False).print(_rich(grid))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _rich(grid: Grid) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column, width, heading in zip(grid.columns, grid.widths, grid.headings, strict=True):
        table.add_column(
            Text(heading),
            justify="right" if column.kind == "figure" else "left",
            style="bold" if column.bold else "",
            width=width,
            no_wrap=True,
        )
    following = [*(row.section for row in grid.rows[1:]), None]
    for row, section in zip(grid.rows, following, strict=True):
        table.add_row(*map(Text, row.cells), end_section=section not in (None, row.section))
    return table


def _write(console: Console, text: str) -> None:
    console.file.write(f"{text}\n")
