"""Fitting of tables to a width: names are shortened in the middle, texts wrapped, figures kept whole.

If that is not enough, spare columns are left out, and then each cell gets a line of its own.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from burnish.console.tables import Column, TableRow, TextTable

EDGES, GAP = 2, 2  # terminal columns: at both ends of a line together; between two cells
LEAST_NAME, LEAST_TEXT = 12, 12  # least widths of shortened names and broken texts, in terminal columns
LEAST_HEADING = 8
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True)
class Grid:
    """A table that fits: the width of each column, and lines of cells."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    headings: tuple[str, ...]
    rows: tuple[TableRow, ...]

    @property
    def width(self) -> int:
        """The table's width in terminal columns."""
        return EDGES + sum(self.widths) + GAP * (len(self.widths) - 1)


def clean(text: str) -> str:
    """Return a cell's text on one line; undecodable bytes of file names become question marks."""
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "?" * len(found[0]), text)


def shortened(name: str, width: int, dots: str = "…") -> str:
    """Shorten a name in the middle; the end, where a path has the file's name, keeps two thirds."""
    if cell_len(name) <= width:
        return name
    kept = max(width - cell_len(dots), 1)
    head, tail = kept // 3, kept - kept // 3
    while head and cell_len(name[:head]) > kept // 3:
        head -= 1
    while tail > 1 and cell_len(name[-tail:]) > kept - kept // 3:
        tail -= 1
    return f"{name[:head]}{dots}{name[-tail:]}"


def fitted(table: TextTable, width: int | None, dots: str = "…") -> Grid | None:
    """Return a table fitted to a width; None if that is impossible. Without a width, it is not shortened."""
    grid = _natural(table)
    if width is None or grid.width <= width:
        return grid
    for tried in (grid, _without_spare(grid)):
        if widths := _narrowed(tried, width):
            return _shortened(tried, widths, dots)
    return None


def lines_of_rows(table: TextTable, width: int, dots: str = "…") -> list[str]:
    """Return the rows with one cell per line, for widths that are too narrow for the table."""
    label = max((cell_len(column.name) for column in table.columns if column.heading), default=0)
    label = min(label, width // 3)
    blocks = (_block(row, table, label, width, dots) for row in _once(table.rows, table.columns))
    return "\n\n".join("\n".join(lines) for lines in blocks if lines).split("\n")


def _block(row: TableRow, table: TextTable, label: int, width: int, dots: str) -> list[str]:
    lines: list[str] = []
    for column, cell in zip(table.columns, row.cells, strict=True):
        if not (text := clean(cell)):
            continue
        heading = shortened(column.name, label, dots) if column.heading else ""
        room = max(width - label - GAP, LEAST_HEADING)
        if column.kind == "figure" and cell_len(text) > room:  # not shortened, on a line of its own
            lines += [heading, f"  {text}"]
        else:
            first, *others = _parts(text, column, room, dots)
            lines.append(heading + " " * (label - cell_len(heading) + GAP) + first)
            lines += [" " * (label + GAP) + part for part in others]
    return lines


def _parts(text: str, column: Column, width: int, dots: str) -> list[str]:
    """Return the lines of a cell in a column of some width."""
    if column.kind == "figure" or cell_len(text) <= width:
        return [text]
    return [shortened(text, width, dots)] if column.kind == "name" else textwrap.wrap(text, width)


def _natural(table: TextTable) -> Grid:
    """Return a table at full width, without shortening."""
    rows = tuple(replace(row, cells=tuple(map(clean, row.cells))) for row in _once(table.rows, table.columns))
    headings = tuple("\n".join(map(clean, column.heading.split("\n"))) for column in table.columns)
    widths = tuple(
        max([_lines_len(heading), *(cell_len(row.cells[number]) for row in rows)])
        for number, heading in enumerate(headings)
    )
    return Grid(table.columns, widths, headings, rows)


def _once(rows: Sequence[TableRow], columns: Sequence[Column]) -> list[TableRow]:
    """Return rows in which a group's later rows leave out the cells of `once` columns."""
    shown: list[TableRow] = []
    before: object = None
    for row in rows:
        cells = row.cells
        if row.group == before:
            cells = tuple("" if column.once else cell for column, cell in zip(columns, cells, strict=True))
        shown.append(replace(row, cells=cells))
        before = row.group
    return shown


def _without_spare(grid: Grid) -> Grid:
    kept = [number for number, column in enumerate(grid.columns) if not column.spare]
    return Grid(
        tuple(grid.columns[i] for i in kept),
        tuple(grid.widths[i] for i in kept),
        tuple(grid.headings[i] for i in kept),
        tuple(replace(row, cells=tuple(row.cells[i] for i in kept)) for row in grid.rows),
    )


def _narrowed(grid: Grid, width: int) -> list[int] | None:
    """Return widths that fit, narrowing the widest columns first; None if no widths fit."""
    widths, least = list(grid.widths), _least(grid)
    excess = grid.width - width
    while excess > 0:
        shrinkable = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not shrinkable:
            return None
        widths[max(shrinkable, key=lambda i: widths[i])] -= 1
        excess -= 1
    return widths


def _least(grid: Grid) -> list[int]:
    """Return the least width of each column."""
    least = []
    for number, column in enumerate(grid.columns):
        cells = [row.cells[number] for row in grid.rows]
        found = max(map(cell_len, cells), default=0)
        if column.kind == "name":
            found = min(found, LEAST_NAME)
        elif column.kind == "text":
            found = min(
                found, max([LEAST_TEXT, *(cell_len(word) for cell in cells for word in cell.split())])
            )
        least.append(max(found, min(_lines_len(grid.headings[number]), LEAST_HEADING)))
    return least


def _shortened(grid: Grid, widths: Sequence[int], dots: str) -> Grid:
    headings = tuple(
        "\n".join(
            shortened(part, width, dots)
            for line in heading.split("\n")
            for part in textwrap.wrap(line, max(width, 1), break_long_words=False) or [""]
        )
        for heading, width in zip(grid.headings, widths, strict=True)
    )
    rows = tuple(
        replace(
            row,
            cells=tuple(
                "\n".join(_parts(cell, column, width, dots))
                for cell, column, width in zip(row.cells, grid.columns, widths, strict=True)
            ),
        )
        for row in grid.rows
    )
    return Grid(grid.columns, tuple(widths), headings, rows)


def _lines_len(text: str) -> int:
    return max(map(cell_len, text.split("\n")))
