"""The benchmark of inlining in linked programs, on a program of two files."""

from __future__ import annotations

from pathlib import Path

import inlining_linked
import pytest
from inlining_linked import Row, measured, table
from shipped.projects import Project

SHARED = """
struct Counter {
  int count = 0;
  int step(int by) { return count += by * 3 + (count ^ by) % 7; }
};
inline int twice(Counter &counter, int by) { return counter.step(by) + counter.step(by + 1); }
int others(Counter &counter, int by);
"""
OTHERS = """
#include "shared.h"
static int more(Counter &counter, int by) { return twice(counter, by) - twice(counter, by * 2); }
int others(Counter &counter, int by) { return more(counter, by) + more(counter, 3) + twice(counter, 9); }
int unused(int by) { return by * 77; }
"""
MAIN = """
#include <cstdio>
#include <cstdlib>
#include "shared.h"
int main(int, char **words) {
  Counter counter;
  int sum = 0;
  for (int i = 0; i < std::atoi(words[1]); i++) sum += others(counter, i) + twice(counter, i);
  std::printf("%d %d\\n", sum, counter.count);
}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    inputs = tmp_path_factory.mktemp("project")
    root = inputs / "sources"
    root.mkdir()
    for name, text in {"shared.h": SHARED, "others.cc": OTHERS, "main.cc": MAIN}.items():
        (root / name).write_text(text)
    return Project(
        name="small",
        version="1",
        sha256="0" * 64,
        root=root,
        sources=(root / "others.cc",),
        programs={"counting": (root / "main.cc",)},
        language="c++",
        runs=("{counting} 50",),
        tests=("{counting} 0 | grep '^0 0$'",),
        inputs=inputs,
    )


def builds_of(project: Project) -> Path:
    """Return the folder of the project's builds."""
    assert project.inputs
    return project.inputs / "builds"


@pytest.fixture(scope="module")
def rows(project: Project) -> list[Row]:
    """Measure the project; what the searches found is stored in its folder."""
    return list(measured(project, builds_of(project), evaluations=6, whole=6))


def test_programs_differ_by_what_is_inlined_alone(rows: list[Row]) -> None:
    found = {(row["as"], row["way"]): row for row in rows}
    assert len(rows) == len(found) == 8
    assert all(row["same_outputs"] and row["tests"] == "" for row in rows)
    clang, files, whole = (
        found[key] for key in (("files", "clang -Oz"), ("files", "heuristic"), ("program", "heuristic"))
    )
    assert (files["kinds"], files["others"]) == (clang["kinds"], 0)  # the objects are clang's own
    assert files["loaded_bytes"] == sum(files["kinds"].values())
    assert whole["loaded_bytes"] < files["loaded_bytes"]  # no function that is called once is left
    searched = found["files", "search"]
    assert searched["questions"] > 4 and 2 < searched["evaluations"] <= 12
    ways = [found["files", way]["loaded_bytes"] for way in ("heuristic", "policy", "search")]
    assert found["files", "smallest linked"]["loaded_bytes"] <= min(ways)
    assert found["program", "search"]["loaded_bytes"] <= whole["loaded_bytes"]


def test_what_a_search_found_is_not_searched_again(
    project: Project, rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inlining_linked, "search", None)
    again = list(measured(project, builds_of(project), evaluations=6, whole=6))
    assert [row["loaded_bytes"] for row in again] == [row["loaded_bytes"] for row in rows]


def test_the_table_says_what_is_wrong() -> None:
    row: Row = {"program": "p", "as": "files", "kinds": {"code": 90}, "same_outputs": True, "tests": None}
    rows = [
        row | {"way": "clang -Oz", "loaded_bytes": 200},
        row | {"way": "policy", "loaded_bytes": 160, "questions": 9, "others": 2, "tests": "code 1: no"},
        row | {"way": "search", "loaded_bytes": 100, "same_outputs": False, "evaluations": 40},
    ]
    lines = [line.split() for line in table(rows).splitlines()]
    assert lines[1] == ["p,", "files:", "clang", "-Oz", "200", "90", "same", "none"]
    assert lines[2] == "p, files: policy 160 1.2500 90 2 of 9 same FAIL".split()
    assert lines[3] == "p, files: search 100 2.0000 90 40 DIFFER none".split()
