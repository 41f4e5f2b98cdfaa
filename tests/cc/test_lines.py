"""What a debugger shows of a program that burnish compiled with -g: the lines of its source."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.llvm.toolchain import find_tool
from tests.sources import DATA

CC = (sys.executable, "-m", "burnish.cli", "cc", "--alone", "--budget", "40 evaluations")
SHOWN = 0.8  # of the lines that clang -Oz shows: what is merged with another line shows that, or none


def compiled(command: tuple[str, ...], source: Path, folder: Path, name: str, level: str = "-Oz") -> Path:
    path = folder / f"{name}.o"
    log = ("--report", str(folder / "cc.jsonl")) if command is CC else ()
    subprocess.run([*command, *log, level, "-g", "-c", str(source), "-o", str(path)], check=True, timeout=120)
    return path


def dump(path: Path, *options: str) -> str:
    tool = str(find_tool("llvm-dwarfdump"))
    return subprocess.run([tool, *options, str(path)], capture_output=True, text=True, check=True).stdout


def lines(path: Path) -> set[int]:
    """Return the numbers of the lines in the line table at which a debugger stops."""
    rows = re.findall(r"^0x\w+ +(\d+) +\d+ +\d+ .*is_stmt", dump(path, "--debug-line"), re.MULTILINE)
    return {int(row) for row in rows} - {0}


def declared(path: Path) -> dict[str, int]:
    """Return the functions with code of their own, and the line of each."""
    found = {}
    for entry in dump(path, "--debug-info").split("DW_TAG_subprogram")[1:]:
        entry = entry.split("DW_TAG_")[0]
        name, line = (re.search(rf'DW_AT_{key}\t\(("?)(\S+?)\1\)', entry) for key in ("name", "decl_line"))
        if "DW_AT_low_pc" in entry and name and line:
            found[name.group(2)] = int(line.group(2))
    return found


@pytest.mark.parametrize("name", ["machine.c", "hash_table.c", "structs.c"])
def test_a_debugger_shows_the_same_lines(name: str, tmp_path: Path) -> None:
    clang = (str(find_tool("clang")),)
    ours = compiled(CC, DATA / name, tmp_path, "ours")
    theirs = compiled(clang, DATA / name, tmp_path, "theirs")
    unoptimized = compiled(clang, DATA / name, tmp_path, "unoptimized", "-O0")
    assert '"action": "optimized"' in (tmp_path / "cc.jsonl").read_text()
    assert lines(ours) <= lines(unoptimized) | lines(theirs)
    assert len(lines(ours) & lines(theirs)) >= SHOWN * len(lines(theirs))
    functions = declared(theirs)
    assert functions
    both = declared(ours).keys() & functions.keys()
    assert {each: declared(ours)[each] for each in both} == {each: functions[each] for each in both}
    assert dump(ours, "--verify").strip().endswith("No errors.")
