"""Modules of WebAssembly: the table, and the list of programs."""

from __future__ import annotations

import tomllib
from typing import Any

from wasm_modules import COMPILERS, FOLDERS, MODULES, PASSES, table


def row(module: str, sizes: tuple[int, ...], instructions: tuple[int, ...]) -> dict[str, Any]:
    ways = [f"{compiler}, {way}" for compiler in COMPILERS for way in PASSES if way != "newer wasm-opt"]
    made = {
        way: {"bytes": size, "instructions": executed}
        for way, size, executed in zip(ways, sizes, instructions, strict=True)
    }
    return {"module": module, "files": 1, **made}


def test_each_way_is_compared_with_clang() -> None:
    rows = [
        row("a", (100, 90, 80, 95, 85, 75), (1000, 1000, 1020, 1000, 1000, 1100)),
        row("b", (300, 290, 280, 285, 275, 265), (500, 500, 510, 500, 500, 550)),
    ]
    lines = table(rows).splitlines()
    assert lines[0].startswith("| module | clang -Oz | wasm-opt -Oz (116) | wasm_passes | burnish |")
    assert lines[2] == "| a | 100 | -10.0% | -20.0% | -5.0% | -15.0% | -25.0% |"
    assert lines[4] == "| all | 400 | -5.0% | -10.0% | -5.0% | -10.0% | -15.0% |"
    assert lines[5] == "| instructions, geometric mean | | +0.0% | +2.0% | +0.0% | +0.0% | +10.0% |"


def test_programs_are_complete() -> None:
    modules = tomllib.loads(MODULES.read_text())["module"]
    assert len({module["name"] for module in modules}) == len(modules) == 9
    for module in modules:
        assert any((folder / f"{module['name']}.c").is_file() for folder in FOLDERS)
        assert module["package"] and module["files"]
