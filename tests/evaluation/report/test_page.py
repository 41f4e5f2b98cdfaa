"""The report is one file, well-formed, with nothing fetched."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from burnish.evaluation.report.page import DATA, Picture, report_page, svg_of
from burnish.evaluation.report.plots import NARROW, improvement_plot, programs_plot
from tests.evaluation.rows import row

pytest.importorskip("matplotlib")

ROWS = [
    row("<a> & b", 50.0, method="m", project="x", trace=("halve", "b: subtract(1)"), evaluations=10),
    row("c", None, method="m", project="y"),
    row("<a> & b", 125.0, method="n", project="x", fallback="O3"),
    row("c", 100.0, method="n", project="y"),
]
VOID = {"meta", "input"}  # elements without an end


class Outline(HTMLParser):
    """Collects the cells of each table, and asserts that every element ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data


def page() -> str:
    pictures = [
        Picture(plot.__name__, "explained", svg_of(plot(ROWS)), svg_of(plot(ROWS, width=NARROW)))
        for plot in (improvement_plot, programs_plot)
    ]
    return report_page(ROWS, {"task": "counting-v4"}, pictures, notes=["Left out: <d>"])


def test_tables_say_what_the_rows_do() -> None:
    methods, more, pairs, projects, programs = Outline(page()).tables
    assert [line[:2] for line in methods[1:]] == [["n", "0.89"], ["m", "0.82"]]  # the best first
    assert [line[0] for line in more[1:]] == ["n", "m"]
    assert pairs[1][0] == "m / n"
    assert [line[0] for line in projects[1:]] == ["x", "y", "x", "y"]
    assert programs[1][:5] == ["<a> & b", "m", "100", "50", "2.00"]
    assert programs[1][-1] == "2halve → b: subtract(1)"
    assert (programs[2][3], programs[2][-1]) == ("failed", "it crashed")
    assert programs[3][-1] == "O3"


def test_single_budget_is_said_once_and_several_are_columns() -> None:
    text = report_page(ROWS, {})
    assert "Budget for a program: 10 evaluations." in text
    assert text.count("10 evaluations") == 1
    several = report_page([*ROWS, row("c", 90.0, method="n", budget="20 evaluations")], {})
    assert "Budget for a program" not in several
    methods, more, _, projects, programs = Outline(several).tables
    assert [table[0][1] for table in (methods, more)] == ["budget"] * 2
    assert projects[0][2] == "budget"
    assert [line[2] for line in programs] == ["budget", *["10 evaluations"] * 4, "20 evaluations"]


def test_languages_have_a_table_where_there_are_two() -> None:
    rows = [row(name, cost) for name, cost in (("a.c", 50.0), ("b.cc", 25.0), ("c.cc", 100.0))]
    _, _, languages, _ = Outline(report_page(rows, {})).tables
    assert [line[:4] for line in languages[1:]] == [
        ["C", "m", "1", "2.00"],
        ["C++", "m", "2", "2.00"],
    ]
    assert [line[6] for line in languages[1:]] == ["2.00", "1.60"]


def test_nothing_is_fetched() -> None:
    text = page()
    for tag, name, value in Outline(text).attributes:
        assert name not in ("src", "href", "xlink:href") or value.startswith("#"), (tag, name, value)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert text.count("<svg") == 4


def test_page_is_the_same_each_time() -> None:
    assert page() == page()


def test_one_method_of_one_project_has_neither_pairs_nor_projects() -> None:
    assert len(Outline(report_page([row("a", 50.0)], {})).tables) == 3


SORTS = """
const body = {rows: [], append(...rows) { this.rows = rows; }};
const table = {tBodies: [body], querySelectorAll: () => heads};
const heads = [0, 1].map(cellIndex => ({
  cellIndex, attributes: {}, listeners: {}, closest: () => table,
  getAttribute(name) { return this.attributes[name]; },
  setAttribute(name, value) { this.attributes[name] = value; },
  removeAttribute(name) { delete this.attributes[name]; },
  addEventListener(name, listener) { this.listeners[name] = listener; },
}));
const cell = (textContent, value) => ({textContent, dataset: value === undefined ? {} : {value}});
body.rows = [["b", "9.0 %", 9], ["a", "failed", 100], ["c", "10 %", 10]].map(
  ([name, text, value]) => ({name, cells: [cell(name), cell(text, value)]}));
globalThis.document = {querySelectorAll: what => what === "thead th" ? heads : []};
require(process.argv[1]);
const orders = [0, 0, 1, 1].map(column => {
  heads[column].listeners.click();
  return body.rows.map(row => row.name).join("");
});
console.log(orders.join(" "));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="no JavaScript here")
def test_script_sorts_by_text_and_by_number_up_and_down() -> None:
    done = subprocess.run(
        ["node", "-e", SORTS, str(DATA / "page.js")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["abc", "cba", "bca", "acb"]


def test_names_of_programs_are_text() -> None:
    text = report_page([row("<script>alert(1)</script>", 50.0)], {"policy": "<b>"}, notes=["<i>"])
    assert text.count("<script>") == 1  # the page's own
    assert "<b>" not in text
    assert "<i>" not in text


def test_page_says_where_its_figures_are_from() -> None:
    text = report_page(ROWS, {"toolchain": {"llvm": "23.1.1"}}, origin={"command": "burnish evaluate <x>"})
    assert "<dd>burnish evaluate &lt;x&gt;</dd>" in text
    assert "<dd>llvm 23.1.1</dd>" in text
