"""Sizes of firmware libraries for other machines: gcc -Os, clang -Oz, and `burnish cc` before that gcc.

    python benchmarks/firmware.py [--budget 2s] [--largest 3] [--machines cortex-m4 rv32imc]
                                  [--libraries PATTERN ...] [--jobs 2] [--sources FOLDER] [--out FOLDER]
    python benchmarks/firmware.py --table [--out FOLDER]    # the tables of rows that are there

Sources are Debian's (by apt, on Debian or Ubuntu), and so are the compilers and C libraries:
gcc-arm-none-eabi, gcc-riscv64-unknown-elf, picolibc-arm-none-eabi, picolibc-riscv64-unknown-elf,
gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, wasi-libc. Of each library, the largest files that the compiler
compiles are taken (--largest). WebAssembly has no gcc: burnish is the compiler, and its own -Oz is clang's.
Sizes are code, constants and initialised data, as in a linked program. --out, by default
benchmarks/results/firmware, gets rows.jsonl, a row for each file and machine, and table.txt.
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

from kit.kept import keep, show
from kit.libraries import library_options
from shipped.debian import fetch_archive, unpack

from burnish import _native
from burnish.cc.back_end import emit
from burnish.cc.commands.launch import find_launcher
from burnish.cc.foreign import in_gnus_place
from burnish.cc.gnu import make_plan
from burnish.cc.jobs import ClangJob
from burnish.core.errors import InputError
from burnish.llvm.modules.origin import run_level
from burnish.llvm.toolchain import find_tool

LIBRARIES = Path(__file__).resolve().with_suffix(".toml")
HEADERS = LIBRARIES.with_suffix("")
SECTIONS = ("-Os", "-w", "-ffunction-sections", "-fdata-sections")
PICOLIBC = "--specs=picolibc.specs"
MACHINES = {
    "cortex-m4": ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", PICOLIBC),
    "cortex-m0plus": ("arm-none-eabi-gcc", "-mcpu=cortex-m0plus", "-mthumb", PICOLIBC),
    "rv32imc": ("riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", PICOLIBC),
    "aarch64": ("aarch64-linux-gnu-gcc",),
    "wasm32": ("burnish-cc", "--target=wasm32-wasi", "--sysroot=/usr", "-Oz"),
}
OVER = ("over clang -Oz", "over clang -Oz, mean")


@dataclass(frozen=True)
class Unit:
    """A file of a library, and its bytes after gcc -Os."""

    library: str
    folder: Path  # of the library's sources
    file: str
    words: tuple[str, ...]  # the compiler and its options
    bytes: int  # by this compiler

    @property
    def has_gcc(self) -> bool:
        """Return whether the compiler is GCC, not burnish."""
        return self.words[0] != "burnish-cc"


def main() -> None:
    parser = library_options(__doc__, "firmware")
    parser.add_argument("--largest", type=int, default=3, help="files of each library")
    parser.add_argument("--machines", nargs="+", choices=MACHINES, default=["cortex-m4", "rv32imc"])
    parser.add_argument("--libraries", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--table", action="store_true", help="print the tables of the rows in --out")
    options = parser.parse_args()
    if options.table:
        show(options.out / "rows.jsonl", table)
        return
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
        try:
            if not folder.is_dir():
                unpack(fetch_archive(library["package"], options.sources.absolute()), folder)
        except InputError as error:  # such as a version that the archive no longer has
            print(f"{library['name']}: left out: {error}", file=sys.stderr)
            continue
        for machine in options.machines:
            units = largest(library, folder, machine, options)
            with ThreadPoolExecutor(options.jobs) as pool:
                for row in pool.map(lambda unit: measured(unit, options.budget), units):
                    yield {"machine": machine, **row}
                    print(f"{machine} {row['library']} {row['file']}", file=sys.stderr)


def largest(
    library: Mapping[str, Any], folder: Path, machine: str, options: argparse.Namespace
) -> list[Unit]:
    """Return the largest of a library's files that the compiler compiles."""
    words = (
        *MACHINES[machine][:1],
        *SECTIONS,
        *MACHINES[machine][1:],
        *(flag.format(here=HEADERS) for flag in library.get("flags", ())),
    )
    files = sorted({path for pattern in library["files"] for path in folder.glob(pattern)})

    def compiled(path: Path) -> Unit | None:
        with tempfile.TemporaryDirectory() as made:
            target = Path(made) / "gcc.o"
            command = [*words, "-c", str(path.relative_to(folder)), "-o", str(target)]
            if command[0] == "burnish-cc":
                command[0] = find_launcher("burnish-cc")
                command.append("-fno-unroll-loops")  # this leaves the search out
            if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
                return None
            size = loaded(target)
        return Unit(library["name"], folder, str(path.relative_to(folder)), words, size)

    with ThreadPoolExecutor(options.jobs) as pool:
        units = [unit for unit in pool.map(compiled, files) if unit]
    return sorted(units, key=lambda unit: -unit.bytes)[: options.largest]


def measured(unit: Unit, budget: str) -> dict[str, Any]:
    """Return the row of a file: bytes by gcc -Os, if there is one, by clang -Oz, and after burnish cc."""
    with tempfile.TemporaryDirectory() as made:
        log, target, bitcode = (Path(made) / name for name in ("log", "burnish.o", "front.bc"))
        compiler, *flags = unit.words
        words = [*flags, "-c", unit.file, "-o", str(target)]
        own = [find_launcher("burnish-cc"), "--remember=none", "--report", str(log), "--budget", budget]
        subprocess.run([*own, *([compiler] if unit.has_gcc else []), *words], cwd=unit.folder, check=True)
        size = loaded(target)
        said = json.loads(log.read_text().splitlines()[-1])
        clang = clangs(unit, words, bitcode) if unit.has_gcc else said["loaded_bytes_before"]
    gcc = unit.bytes if unit.has_gcc else None
    row = {"library": unit.library, "file": unit.file, "gcc": gcc, "clang": clang, "burnish": size}
    return row | {name: said[name] for name in ("action", "reason", "seconds", "evaluations")}


def clangs(unit: Unit, words: Sequence[str], bitcode: Path) -> int | None:
    """Return the bytes by clang -Oz with gcc's headers and options; None if clang rejects the file."""
    code = clangs_object(unit.words[0], words, unit.folder, bitcode)
    return int(_native.object_sizes(code, False).loaded_bytes) if code else None


def clangs_object(name: str, words: Sequence[str], folder: Path, bitcode: Path) -> bytes | None:
    """Return clang's object at -Oz for the command of a GNU compiler; None if clang rejects the file."""
    front = clangs_module(name, words, folder, bitcode)
    if front is None:
        return None
    job, module = front
    run_level(module, "Oz")
    return emit(module.bitcode(), job)


def clangs_module(
    name: str, words: Sequence[str], folder: Path, bitcode: Path
) -> tuple[ClangJob, _native.Module] | None:
    """Return clang's module before any pass, and its job; None if clang rejects the file."""
    compiler = shutil.which(name)
    assert compiler
    plan = make_plan(Path(compiler), find_tool("clang"), words, folder)
    assert plan
    (job,) = plan.compilations
    command = job.silenced().front_end(bitcode).command
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        return None
    return job, _native.Module(in_gnus_place(bitcode.read_bytes()), "module")


def loaded(path: Path) -> int:
    return int(_native.object_sizes(path.read_bytes(), False).loaded_bytes)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables, as Markdown: all machines, then for each machine the totals of its libraries.

    Changes are from gcc -Os, or from clang -Oz if there is no GCC. Files that clang rejects are left out.
    """
    machines = {
        machine: [row for row in rows if row["machine"] == machine and row["clang"]]
        for machine in dict.fromkeys(row["machine"] for row in rows)
    }
    heads = ("machine", "files", "gcc -Os", "clang -Oz", "burnish cc", *OVER, "smaller files")
    lines = [heading(heads)]
    for machine, group in machines.items():
        base, others = ways(group)
        changes = " | ".join(f"{change(group, way, base):+.1%}" for way in others)
        totals = f"{'' if base == 'gcc' else '| '}{total(group, base):,} | {changes}"
        over = f"{change(group, 'burnish', 'clang'):+.1%} | {mean(group, 'burnish', 'clang'):+.1%}"
        lines.append(f"| {machine} | {len(group)} | {totals} | {over} | {smaller(group)} |")
    tables = ["\n".join(lines), *(of_machine(machine, group) for machine, group in machines.items())]
    return "\n\n".join(tables).replace("%", " %")


def of_machine(machine: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a machine's table: totals of each library."""
    base, others = ways(rows)
    heads = {"gcc": "gcc -Os", "clang": "clang -Oz", "burnish": "burnish cc"}
    over = OVER[:1] if base == "gcc" else ()
    lines = [
        heading((machine, "files", heads[base], *(heads[way] for way in others), *over, "smaller files"))
    ]
    compared = [(way, base) for way in others] + [("burnish", "clang") for _ in over]
    libraries = {
        name: [row for row in rows if row["library"] == name]
        for name in dict.fromkeys(row["library"] for row in rows)
    }
    for name, group in [*libraries.items(), ("all", rows)]:
        changes = " | ".join(f"{change(group, *pair):+.1%}" for pair in compared)
        lines.append(f"| {name} | {len(group)} | {total(group, base):,} | {changes} | {smaller(group)} |")
    means = " | ".join(f"{mean(rows, *pair):+.1%}" for pair in compared)
    lines.append(f"| geometric mean | | | {means} | |")
    return "\n".join(lines)


def heading(columns: Sequence[str]) -> str:
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"


def ways(rows: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Return the compiler that a machine's other columns are compared with, and these columns."""
    return ("gcc", ("clang", "burnish")) if rows[0]["gcc"] else ("clang", ("burnish",))


def total(rows: Sequence[Mapping[str, Any]], way: str) -> int:
    return sum(row[way] for row in rows)


def change(rows: Sequence[Mapping[str, Any]], way: str, base: str) -> float:
    """Return the change of the total: -0.1 is 10 % smaller."""
    return total(rows, way) / total(rows, base) - 1


def mean(rows: Sequence[Mapping[str, Any]], way: str, base: str) -> float:
    """Return the geometric mean of the files' changes."""
    return math.exp(math.fsum(math.log(row[way] / row[base]) for row in rows) / len(rows)) - 1


def smaller(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["burnish"] < row[ways(rows)[0]] for row in rows)


if __name__ == "__main__":
    main()
