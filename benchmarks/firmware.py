"""Sizes of firmware libraries for microcontrollers: gcc -Os, clang -Oz, and `burnish cc` before that gcc.

    python benchmarks/firmware.py [--budget 2s] [--largest 3] [--machines cortex-m4 rv32imc]
                                  [--libraries PATTERN ...] [--jobs 2] [--sources FOLDER] [--out FOLDER]

Sources are Debian's (by apt, on Debian or Ubuntu), and so are the compilers and picolibc: gcc-arm-none-eabi,
gcc-riscv64-unknown-elf, picolibc-arm-none-eabi, picolibc-riscv64-unknown-elf. Of each library, the largest
files that gcc compiles are taken (--largest). Sizes are code, constants and initialised data, as in a linked
program. --out, by default benchmarks/results/firmware, gets rows.jsonl, a row for each file and machine, and
table.txt.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from kit.kept import keep
from shipped.debian import fetch_archive, unpack

from burnish import _native
from burnish.cc.commands.launch import find_launcher
from burnish.cc.foreign import in_gnus_place
from burnish.cc.gnu import make_plan
from burnish.cc.machine_code import emit
from burnish.llvm.modules.origin import run_level
from burnish.llvm.toolchain import find_tool

LIBRARIES = Path(__file__).resolve().with_suffix(".toml")
HEADERS = LIBRARIES.with_suffix("")
SECTIONS = ("-Os", "-w", "-ffunction-sections", "-fdata-sections", "--specs=picolibc.specs")
MACHINES = {
    "cortex-m4": ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"),
    "cortex-m0plus": ("arm-none-eabi-gcc", "-mcpu=cortex-m0plus", "-mthumb"),
    "rv32imc": ("riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32"),
}


@dataclass(frozen=True)
class Unit:
    """A file of a library, and its bytes after gcc -Os."""

    library: str
    folder: Path  # of the library's sources
    file: str
    words: tuple[str, ...]  # the compiler and its options
    gcc: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", default="2s", help="of burnish cc, for each file")
    parser.add_argument("--largest", type=int, default=3, help="files of each library")
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=["cortex-m4", "rv32imc"])
    parser.add_argument("--libraries", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sources", type=Path, default=Path("sources"), help="folder of fetched packages")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "firmware")
    options = parser.parse_args()
    keep(rows(options), options.out, table)


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each file and machine."""
    libraries = [
        library
        for library in tomllib.loads(LIBRARIES.read_text())["library"]
        if any(fnmatch(library["name"].casefold(), pattern.casefold()) for pattern in options.libraries)
    ]
    for library in libraries:
        folder = options.sources.absolute() / library["package"]
        if not folder.is_dir():
            unpack(fetch_archive(library["package"], options.sources.absolute()), folder)
        for machine in options.machines:
            units = largest(library, folder, machine, options)
            with ThreadPoolExecutor(options.jobs) as pool:
                for row in pool.map(lambda unit: measured(unit, options.budget), units):
                    yield {"machine": machine, **row}
                    print(f"{machine} {row['library']} {row['file']}", file=sys.stderr)


def largest(
    library: Mapping[str, Any], folder: Path, machine: str, options: argparse.Namespace
) -> list[Unit]:
    """Return the largest of a library's files that gcc compiles."""
    words = (*MACHINES[machine], *SECTIONS, *(flag.format(here=HEADERS) for flag in library.get("flags", ())))
    files = sorted({path for pattern in library["files"] for path in folder.glob(pattern)})

    def compiled(path: Path) -> Unit | None:
        with tempfile.TemporaryDirectory() as made:
            target = Path(made) / "gcc.o"
            command = [*words, "-c", str(path.relative_to(folder)), "-o", str(target)]
            if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
                return None
            size = loaded(target)
        return Unit(library["name"], folder, str(path.relative_to(folder)), words, size)

    with ThreadPoolExecutor(options.jobs) as pool:
        units = [unit for unit in pool.map(compiled, files) if unit]
    return sorted(units, key=lambda unit: -unit.gcc)[: options.largest]


def measured(unit: Unit, budget: str) -> dict[str, Any]:
    """Return the row of a file: bytes by gcc -Os, by clang -Oz, and after burnish cc."""
    with tempfile.TemporaryDirectory() as made:
        log, target, bitcode = (Path(made) / name for name in ("log", "burnish.o", "front.bc"))
        compiler, *flags = unit.words
        words = [*flags, "-c", unit.file, "-o", str(target)]
        own = [find_launcher("burnish-cc"), "--report", str(log), "--budget", budget, compiler]
        subprocess.run([*own, *words], cwd=unit.folder, check=True)
        size = loaded(target)
        said = json.loads(log.read_text().splitlines()[-1])
        clang = clangs(unit, words, bitcode)
    row = {"library": unit.library, "file": unit.file, "gcc": unit.gcc, "clang": clang, "burnish": size}
    return row | {name: said[name] for name in ("action", "reason", "seconds", "evaluations")}


def clangs(unit: Unit, words: Sequence[str], bitcode: Path) -> int | None:
    """Return the bytes by clang -Oz with gcc's headers and options; None if clang rejects the file."""
    code = clangs_object(unit.words[0], words, unit.folder, bitcode)
    return int(_native.object_sizes(code, False).loaded_bytes) if code else None


def clangs_object(name: str, words: Sequence[str], folder: Path, bitcode: Path) -> bytes | None:
    """Return clang's object at -Oz for the command of a GNU compiler; None if clang rejects the file."""
    compiler = shutil.which(name)
    assert compiler
    plan = make_plan(Path(compiler), find_tool("clang"), words, folder)
    assert plan
    (job,) = plan.compilations
    command = job.silenced().front_end(bitcode).command
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        return None
    module = _native.Module(in_gnus_place(bitcode.read_bytes()), "module")
    run_level(module, "Oz")
    return emit(module.bitcode(), job)


def loaded(path: Path) -> int:
    return int(_native.object_sizes(path.read_bytes(), False).loaded_bytes)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: totals of each library, and the change to gcc -Os."""
    lines = []
    for machine in dict.fromkeys(row["machine"] for row in rows):
        own = [row for row in rows if row["machine"] == machine and row["clang"]]
        lines += [
            f"| {machine} | files | gcc -Os | clang -Oz | burnish cc | smaller files |",
            "|---" * 6 + "|",
        ]
        groups = {
            name: [row for row in own if row["library"] == name]
            for name in dict.fromkeys(row["library"] for row in own)
        }
        for name, group in [*groups.items(), ("all", own)]:
            gcc, clang, burnish = (sum(row[way] for row in group) for way in ("gcc", "clang", "burnish"))
            smaller = sum(row["burnish"] < row["gcc"] for row in group)
            changes = f"{clang / gcc - 1:+.1%} | {burnish / gcc - 1:+.1%}"
            lines.append(f"| {name} | {len(group)} | {gcc:,} | {changes} | {smaller} |")
        means = [
            math.exp(math.fsum(math.log(row[way] / row["gcc"]) for row in own) / len(own)) - 1
            for way in ("clang", "burnish")
        ]
        lines += [f"| geometric mean | | | {means[0]:+.1%} | {means[1]:+.1%} | |", ""]
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    main()
