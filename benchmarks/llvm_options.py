"""Try LLVM's hidden options of code generation: which ones make functions smaller?

    python benchmarks/llvm_options.py --folder CORPUS --out ROWS.jsonl [--everywhere outline]
    python benchmarks/llvm_options.py --table --out ROWS.jsonl [--most 40]

Each setting is tried at all functions of programs of the train split, after the passes of -Oz. The options
are those that clang lists, and those of other machines by their names in burnish's native core. Settings that
change nothing in the largest programs are not tried at the others. LLVM may crash or hang: each setting is
tried in a process of its own. Before you offer an option (burnish.tasks.llvm_codegen.llvm_options), read
LLVM's sources: is the option safe, and does LLVM read it for each function?

A row has the setting, and in per cent of the programs' loaded bytes its change at all functions, and at those
that gain; null if it changed nothing, or why it was not tried. Rows that are there are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codegen_suffixes import programs_of

from burnish import _native
from burnish.cc.repeating import BEGIN
from burnish.cc.short_search import code_of
from burnish.core.errors import BurnishError
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_codegen.session import CodegenSession
from burnish.tasks.llvm_passes_and_codegen import TASK

PROBED, OTHERS = 4, 24  # programs
SECONDS = 15  # for one setting
NUMBERS = ("0", "1", "2", "4", "8", "32", "1000")
UNKNOWN = ("true", "false", "0", "2", "16", "1000")  # for options of an unknown type
# Options that print, write files, or are for tests, instrumentation and whole programs.
OMITTED = re.compile(
    r"print|view|debug|stats|^time|verify|dump|dot|^help|version|^stop|^start|gcov|pgo|san-|remarks|import|file|"
    r"bisect|trap|crash|abort|stress|fuzz|seed|random|advisor|model|trace|profile|lto|^align|offset-bits|mattr"
)
OF_MACHINES = re.compile(rb"(?:enable-|disable-)?(?:x86|arm|mve|aarch64|riscv|wasm)-[a-z0-9-]{3,60}\0")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="the corpus")
    parser.add_argument("--out", type=Path, required=True, help="file of rows")
    parser.add_argument("--everywhere", nargs="*", default=[], help="decisions on the whole program")
    parser.add_argument("--table", action="store_true", help="print the settings that gain most")
    parser.add_argument("--most", type=int, default=40, help="lines of the table")
    options = parser.parse_args()
    if options.table:
        print(table(options.out, options.most))
        return
    if options.folder is None:
        parser.error("--folder: expected the folder of a corpus")
    programs = opened(options.folder, options.everywhere)
    known = {row[0] for row in rows(options.out)}
    with options.out.open("a") as out:
        for setting in settings():
            if setting not in known:
                out.write(json.dumps([setting, tried_apart(programs, setting)]) + "\n")
                out.flush()


def settings() -> Iterator[str]:
    """Yield "option=value" for all options that may change code."""
    command = [
        str(find_tool("clang")),
        "-xc",
        "-c",
        os.devnull,
        "-o",
        os.devnull,
        "-mllvm",
        "-help-list-hidden",
    ]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    values: dict[str, list[str]] = {}
    last = ""
    for line in listed.splitlines():
        if found := re.match(r"  --?([\w.-]+)(?:=<([^>]*)>)?(?:\s|$)", line):
            last, kind = found[1], found[2]
            is_number = kind in ("uint", "int", "number", "long", "ulong")
            values[last] = ["true", "false"] if kind is None else [*NUMBERS] if is_number else []
        elif last and (found := re.match(r"    =([\w.-]+)", line)):
            values[last].append(found[1])
    core = Path(_native.__file__).read_bytes()
    for name in sorted({found[:-1].decode() for found in OF_MACHINES.findall(core)}):
        values.setdefault(name, [*UNKNOWN])
    for name, possible in sorted(values.items()):
        if not OMITTED.search(name):
            yield from (f"{name}={value}" for value in possible)


def opened(folder: Path, everywhere: Sequence[str]) -> list[CodegenSession]:
    """Return programs at the beginning of code generation, the largest first."""
    found = []
    for program in programs_of(folder, PROBED + OTHERS, 3000):
        try:
            session = TASK.open(program)
            session.replay(("clang<Oz>", BEGIN, *everywhere))
            session.measure("loaded-bytes")
        except BurnishError:
            continue
        found.append(code_of(session))
    return sorted(found, key=lambda one: -one.measure("loaded-bytes"))


def tried_apart(programs: Sequence[CodegenSession], setting: str) -> Any:
    """Return the result of a setting, tried in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # LLVM says there what it does not take
        try:
            result: Any = tried(programs, setting)
        except BurnishError as error:
            result = str(error)
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(said) if said else f"ended with {status}"


def tried(programs: Sequence[CodegenSession], setting: str) -> tuple[float, float] | None:
    """Return the changes in per cent at all functions, and at those that gain; None if nothing changes."""
    before = change = least = 0.0
    changes = False
    for number, program in enumerate(programs):
        if number == PROBED and not changes:
            return None
        other = program.fork()
        other.others = replace(program.others, options=frozenset({setting}))
        changes |= other.object_code() != program.object_code()
        before += program.measure("loaded-bytes")
        change += other.measure("loaded-bytes") - program.measure("loaded-bytes")
        costs, now = program.site_costs("loaded-bytes"), other.site_costs("loaded-bytes")
        least += sum(min(0.0, now.get(site, costs[site]) - costs[site]) for site in program.sites())
    return 100 * change / before, 100 * least / before


def rows(path: Path) -> list[list[Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(path: Path, most: int) -> str:
    """Return the settings that gain most at the functions where they gain."""
    found = sorted((row[1][1], row[1][0], row[0]) for row in rows(path) if isinstance(row[1], list))
    lines = [f"| `{setting}` | {change:+.2f} % | {least:+.2f} % |" for least, change, setting in found[:most]]
    return "\n".join(["| option | at all functions | where a function gains |", "|---|---|---|", *lines])


if __name__ == "__main__":
    main()
