"""Tables of the command line: columns, rows, and sentences about checks.

A table has no width: `table_layout` fits it to a terminal, `table_forms` prints it in some form.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from burnish.core.objective import parse_objective
from burnish.core.task import Task

Kind = Literal["name", "figure", "text"]
MOST_NAMES = 3  # most names of programs in a sentence


@dataclass(frozen=True)
class Column:
    """The properties of a column.

    Attributes:
        heading: The heading; may be "".
        kind: A name (of a file, for example) is shortened in the middle, a text is broken between words, and
            a figure is never shortened.
        label: The name in CSV and for --sort; "" means the heading.
        once: Whether a group of rows shows the column only in its first row.
        spare: Whether the column is left out if the terminal is too narrow.
        bold: Whether the column is emphasized.
    """

    heading: str
    kind: Kind = "figure"
    label: str = ""
    once: bool = False
    spare: bool = False
    bold: bool = False

    @property
    def name(self) -> str:
        """The label, or else the heading."""
        return self.label or " ".join(self.heading.split())


@dataclass(frozen=True)
class TableRow:
    """A row: a cell for each column, the row's section and its group of rows."""

    cells: tuple[str, ...]
    section: int
    group: Hashable
    total: bool = False


@dataclass
class TextTable:
    """Columns and rows."""

    columns: tuple[Column, ...]
    title: str = ""
    rows: list[TableRow] = field(default_factory=list)
    _section: int = 0

    def add(self, *cells: str, group: Hashable = None) -> None:
        """Add a row; consecutive rows of one group belong together."""
        self._add(cells, len(self.rows) if group is None else ("group", group))

    def add_total(self, *cells: str, group: Hashable = None) -> None:
        """Add a row that sums up the rows before: sorting keeps it last, and CSV leaves it out."""
        self._add(cells, len(self.rows) if group is None else ("total", group), total=True)

    def end_section(self) -> None:
        """Draw a line below the last row."""
        self._section += 1

    def _add(self, cells: tuple[str, ...], group: Hashable, *, total: bool = False) -> None:
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells in a table of {len(self.columns)} columns")
        self.rows.append(TableRow(cells, self._section, group, total))


def names(heading: str, *, label: str = "", once: bool = False, spare: bool = False) -> Column:
    """Return a column of names."""
    return Column(heading, "name", label, once, spare)


def texts(heading: str, *, label: str = "", once: bool = False) -> Column:
    """Return a column of texts."""
    return Column(heading, "text", label, once)


def figures(*headings: str, once: bool = False) -> tuple[Column, ...]:
    """Return columns of figures."""
    return tuple(Column(heading, once=once) for heading in headings)


def heading_of(task: Task, objective: str) -> str:
    """Return the heading of an objective's column in a narrow table."""
    name = parse_objective(objective).unlimited
    if parse_objective(name).is_weighted:
        return "weighted"
    found = task.objective(name)
    return found.heading or found.unit


def sentences(checks: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Return the checks of `held_for` as sentences."""
    return [f"{text[0].upper()}{text[1:]}." for text in held_for(checks)]


def held_for(checks: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Return the different checks; a check of only some results names their programs.

    Args:
        checks: For each result: its program and its checks, which are empty if they failed.
    """
    held: dict[str, list[str]] = {}
    count = 0
    for program, found in checks:
        different = dict.fromkeys(found)
        count += bool(different)
        for check in different:
            held.setdefault(check, []).append(program)
    return [_qualified(check, programs, count) for check, programs in sorted(held.items())]


def _qualified(check: str, programs: list[str], count: int) -> str:
    if len(programs) == count:
        return check
    different = list(dict.fromkeys(programs))
    more = ", ..." if len(different) > MOST_NAMES else ""
    return f"{check} ({len(programs)} of {count} results: {', '.join(different[:MOST_NAMES])}{more})"
