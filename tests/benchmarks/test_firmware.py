"""Sizes of firmware libraries: the table, and what is measured of each library."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import firmware
from firmware import HEADERS, LIBRARIES, table

RESULTS = Path(firmware.__file__).parent / "results" / "firmware"
DOCS = Path(__file__).parents[2] / "docs"


def row(machine: str, library: str, gcc: int | None, clang: int | None, burnish: int) -> dict[str, Any]:
    return {"machine": machine, "library": library, "gcc": gcc, "clang": clang, "burnish": burnish}


def test_totals_are_compared_with_gcc() -> None:
    rows = [
        row("m4", "a", 100, 80, 90),
        row("m4", "a", 300, 320, 300),
        row("m4", "b", 600, 600, 510),
        row("m4", "b", 50, None, 50),  # clang rejects the file
        row("rv32", "a", 200, 220, 180),
    ]
    all_machines, m4, rv32 = table(rows).split("\n\n")
    assert "| a | 2 | 400 | +0.0 % | -2.5 % | -2.5 % | 1 |" in m4
    assert "| b | 1 | 600 | +0.0 % | -15.0 % | -15.0 % | 1 |" in m4
    assert "| all | 3 | 1,000 | +0.0 % | -10.0 % | -10.0 % | 2 |" in m4
    clang, burnish = ((0.8 * 320 / 300) ** (1 / 3), (0.9 * 0.85) ** (1 / 3))
    means = f"{clang - 1:+.1%} | {burnish - 1:+.1%} | {burnish / clang - 1:+.1%}".replace("%", " %")
    assert f"| geometric mean | | | {means} | |" in m4
    over = f"{burnish / clang - 1:+.1%}".replace("%", " %")
    assert f"| m4 | 3 | 1,000 | +0.0 % | -10.0 % | -10.0 % | {over} | 2 |" in all_machines
    assert (
        rv32.startswith("| rv32 | files |") and "| all | 1 | 200 | +10.0 % | -10.0 % | -18.2 % | 1 |" in rv32
    )


def test_without_gcc_clang_is_the_base() -> None:
    rows = [row("wasm32", "a", None, 200, 150), row("wasm32", "a", None, 100, 100)]
    all_machines, wasm32 = table(rows).split("\n\n")
    assert wasm32.startswith("| wasm32 | files | clang -Oz | burnish cc | smaller files |")
    assert "| all | 2 | 300 | -16.7 % | 1 |" in wasm32
    mean = f"{0.75**0.5 - 1:+.1%}".replace("%", " %")
    assert f"| wasm32 | 2 | | 300 | -16.7 % | -16.7 % | {mean} | 1 |" in all_machines


def test_the_page_has_the_tables_of_the_rows() -> None:
    rows = (RESULTS / "rows.jsonl").read_text().splitlines()
    printed = table([json.loads(line) for line in rows])
    assert (RESULTS / "table.txt").read_text() == f"{printed}\n"
    all_machines, m4, rv32, *_ = printed.split("\n\n")
    page = (DOCS / "firmware.md").read_text()
    assert all(shown in page for shown in (all_machines, m4, rv32))


def test_libraries_are_complete() -> None:
    libraries = tomllib.loads(LIBRARIES.read_text())["library"]
    assert len(libraries) == len({library["package"] for library in libraries}) == 12
    for library in libraries:
        assert library["name"] and library["files"]
    assert (HEADERS / "lwipopts.h").is_file() and (HEADERS / "arch" / "cc.h").is_file()
