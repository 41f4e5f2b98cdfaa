"""Every table at every width: no figure is cut, and in a pipe no name is broken."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from burnish.console.table_forms import CSV, MARKDOWN, TableForm
from burnish.console.tables import TextTable, figures, names, texts
from tests.console.every_table import FILES, TABLES

SNAPSHOTS = Path(__file__).parent / "snapshots"
SNAPPED = ("optimize", "report", "evaluate", "apply", "link", "validate")
WIDTHS = (40, 60, 80, 200)
SOURCES = Path(__file__).parents[2] / "src" / "burnish"


def printed(name: str, width: int | None, form: str = "table") -> tuple[list[TextTable], str]:
    """Return the tables of a command and what is printed; without a width into a pipe."""
    file = io.StringIO()
    if width:
        console = Console(file=file, width=width, force_terminal=True, color_system=None)
    else:
        console = Console(file=file, width=10)  # which counts for nothing in a pipe
    recorded = Recorded(form, console=console)
    TABLES[name](recorded)
    return recorded.tables, file.getvalue()


class Recorded(TableForm):
    """A form that remembers its tables."""

    def __init__(self, form: str, *, console: Console) -> None:
        super().__init__(form, console=console)
        object.__setattr__(self, "tables", [])

    tables: list[TextTable]

    def show(self, *tables: TextTable) -> None:
        self.tables.extend(tables)
        super().show(*tables)


def cells(tables: list[TextTable], *kinds: str) -> set[str]:
    """Return the cells of columns of some kinds."""
    return {
        cell.strip()
        for table in tables
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if column.kind in kinds and cell
    }


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TABLES)
def test_no_figure_is_cut(name: str, width: int) -> None:
    tables, text = printed(name, width)
    assert tables
    whole = re.compile(r"(?<![\w.,+-])(%s)(?![\w.,]*\d)")
    for figure in cells(tables, "figure"):
        assert re.search(whole.pattern % re.escape(figure), text), figure


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_fits_the_terminal(name: str, width: int) -> None:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, color_system=None)
    tables, _ = printed(name, width)
    TableForm(console=console).show(*(TextTable(table.columns, "", table.rows) for table in tables))
    assert max(map(cell_len, file.getvalue().splitlines())) <= width


@pytest.mark.parametrize("name", TABLES)
def test_a_pipe_has_no_width(name: str) -> None:
    """A cell is whole on one line, so that a search for it finds it; nothing ends in blanks."""
    tables, text = printed(name, None)
    lines = text.splitlines()
    for cell in cells(tables, "name", "figure", "text"):
        assert any(cell in line for line in lines), cell
    assert "…" not in text
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("name", TABLES)
def test_csv_has_every_cell_once_more(name: str) -> None:
    tables, text = printed(name, None, CSV)
    rows = [row for row in csv.reader(io.StringIO(text)) if row]  # an empty line between two tables
    assert len(rows) == sum(1 + sum(not row.total for row in table.rows) for table in tables)
    at = 0
    for table in tables:
        assert rows[at] == [column.name for column in table.columns]
        assert all(rows[at]), "every column has a name"
        at += 1 + sum(not row.total for row in table.rows)


@pytest.mark.parametrize("name", TABLES)
def test_markdown_has_a_line_for_each_row(name: str) -> None:
    tables, text = printed(name, None, MARKDOWN)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(lines) == sum(2 + len(table.rows) for table in tables)


@pytest.mark.parametrize("width", [*WIDTHS, None])
@pytest.mark.parametrize("name", SNAPPED)
def test_tables_look_so(name: str, width: int | None) -> None:
    """Write the snapshots anew: python -m tests.console.test_every_table."""
    assert (SNAPSHOTS / snapshot(name, width)).read_text() == looks(name, width)


def test_all_tables_are_printed_in_one_place() -> None:
    found = {path.name for path in SOURCES.rglob("*.py") if "from rich.table" in path.read_text()}
    assert found == {"table_forms.py"}


def test_names_are_shortened_in_the_middle() -> None:
    _, text = printed("report", 80)
    assert re.search(r"^ buil…\S*/x\.o ", text, re.MULTILINE)


SMALL = TextTable((names("file"), *figures("bytes"), texts("why")))
for file, size, why in (("b.c", "1,234", ""), ("a.c", "99", "x|y"), ("c.c", "", "é")):
    SMALL.add(file, size, why)
SMALL.end_section()
SMALL.add_total("all", "1,333", "")


@pytest.mark.parametrize(
    ("column", "reverse", "expected"),
    [
        ("", False, "bac"),
        ("file", False, "abc"),
        ("file", True, "cba"),
        ("bytes", False, "abc"),
        ("bytes", True, "bac"),
        ("by", False, "abc"),
    ],
)
def test_rows_are_sorted_and_sums_stay_below(column: str, reverse: bool, expected: str) -> None:
    file = io.StringIO()
    TableForm(sort=column, reverse=reverse, console=Console(file=file)).show(SMALL)
    found = re.findall(r"(\w)\.c|(all)", file.getvalue())
    assert ["".join(each) for each in found] == [*expected, "all"]


def test_a_column_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    TableForm(sort="bites").show(SMALL)
    shown, error = capsys.readouterr()
    assert "1,234" in shown
    assert "--sort bites: no column named 'bites'; did you mean 'bytes'?" in error


def test_forms_for_machines() -> None:
    file = io.StringIO()
    TableForm(CSV, console=Console(file=file)).show(SMALL)
    assert file.getvalue() == "file,bytes,why\nb.c,1234,\na.c,99,x|y\nc.c,,é\n"
    file = io.StringIO()
    TableForm(MARKDOWN, console=Console(file=file)).show(SMALL)
    assert "| file | bytes | why |\n| --- | ---: | --- |\n" in file.getvalue()
    assert "| a.c | 99 | x\\|y |" in file.getvalue()


def test_names_that_are_no_text_are_printed() -> None:
    table = TextTable((names("file"),))
    table.add("r\udcf6ws\n\x1b.c")
    file = io.StringIO()
    TableForm(console=Console(file=file)).show(table)
    file.getvalue().encode()
    assert "r?ws" in file.getvalue()


def snapshot(name: str, width: int | None) -> str:
    return f"{name}_{width or 'pipe'}.txt"


def looks(name: str, width: int | None) -> str:
    return "\n".join(line.rstrip() for line in printed(name, width)[1].splitlines()) + "\n"


def test_every_name_is_long() -> None:
    assert max(map(len, FILES)) > 60


if __name__ == "__main__":
    SNAPSHOTS.mkdir(exist_ok=True)
    for each in SNAPPED:
        for columns in (*WIDTHS, None):
            (SNAPSHOTS / snapshot(each, columns)).write_text(looks(each, columns))
