"""Modules of WebAssembly: bytes and executed instructions, by clang, wasm-opt and burnish.

    python benchmarks/wasm_modules.py [--budget 2s] [--pass-budget 10s] [--modules PATTERN ...] [--jobs 2]
                                      [--wasm-opt COMMAND] [--sources FOLDER] [--out FOLDER]

Each program is compiled by clang -Oz, and by `burnish cc` with --budget for each file. wasm-ld links both.
Each module is then optimized by wasm-opt -Oz of burnish's binaryen, by a newer wasm-opt, and by burnish's
passes with --pass-budget. --wasm-opt names it: 'node FOLDER/bin/wasm-opt' of npm's package, for example.
wasmtime runs all modules and counts instructions. Outputs are compared.

Packages of Debian: wasi-libc, libclang-rt-14-dev-wasm32; sources by apt. --out, by default
benchmarks/results/wasm_modules, gets rows.jsonl, a row for each program, and table.txt. Linked modules are in
its folder modules; one that is there is not made again.
"""

from __future__ import annotations

import argparse
import math
import shlex
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
from kit.libraries import library_options
from shipped.debian import fetch_archive, unpack

from burnish.core.errors import InputError
from burnish.core.program import Program, Run
from burnish.core.registry import load_task
from burnish.llvm.toolchain import find_tool
from burnish.tasks.wasm_passes.running import Outcome, execute

MODULES = Path(__file__).resolve().with_suffix(".toml")
FOLDERS = (MODULES.parent / "wasm", MODULES.parent / "firmware" / "images")
TARGET = ("--target=wasm32-wasi", "--sysroot=/usr", *(f"-I{folder}" for folder in FOLDERS))
LIBRARIES = Path("/usr/lib/wasm32-wasi")
BUILTINS = "/usr/lib/llvm-14/lib/clang/14.0.6/lib/wasi/libclang_rt.builtins-wasm32.a"
FEATURES = """
    bulk-memory nontrapping-float-to-int sign-ext mutable-globals reference-types multivalue
""".split()
COMPILERS = ("clang", "burnish")
WHOLE = "burnish cc --whole-program"
PASSES = ("linked", "wasm-opt", "newer wasm-opt", "passes")
TITLES = {
    "linked": "clang -Oz",
    "wasm-opt": "wasm-opt -Oz (116)",
    "newer wasm-opt": "wasm-opt -Oz (newer)",
    "passes": "wasm_passes",
}


@dataclass(frozen=True)
class Source:
    """A program's sources, and clang's options."""

    name: str
    folder: Path  # of the library's sources
    files: tuple[str, ...]
    flags: tuple[str, ...]


def main() -> None:
    parser = library_options(__doc__, "wasm_modules")
    parser.add_argument("--pass-budget", default="10s", help="of burnish optimize, for each module")
    parser.add_argument("--program-budget", default="20s", help="of each step of --whole-program")
    parser.add_argument("--modules", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--wasm-opt", default="", metavar="COMMAND", help="a newer wasm-opt, to compare with")
    options = parser.parse_args()
    keep(rows(options), options.out, table)


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each program whose sources are there."""
    for one in tomllib.loads(MODULES.read_text())["module"]:
        if not any(fnmatch(one["name"], pattern) for pattern in options.modules):
            continue
        try:
            source = source_of(one, options.sources.absolute())
        except InputError as error:  # such as a version that the archive no longer has
            print(f"{one['name']}: left out: {error}", file=sys.stderr)
            continue
        yield measured(source, options)


def source_of(row: Mapping[str, Any], sources: Path) -> Source:
    """Return a program of the list, with the sources of its library."""
    folder = sources / row["package"]
    if not folder.is_dir():
        unpack(fetch_archive(row["package"], sources), folder)
    paths = sorted({path for pattern in row["files"] for path in folder.glob(pattern)})
    files = [str(path.relative_to(folder)) for path in paths if path.name not in row.get("without", ())]
    (own,) = [path for path in (place / f"{row['name']}.c" for place in FOLDERS) if path.is_file()][:1]
    return Source(row["name"], folder, (*files, str(own)), tuple(row["flags"]))


def measured(source: Source, options: argparse.Namespace) -> dict[str, Any]:
    """Make a program's modules and run them; return its row.

    Raises:
        RuntimeError: an output differs from that of clang's module.
    """
    row: dict[str, Any] = {"module": source.name, "files": len(source.files)}
    expected: Outcome | None = None
    for compiler in COMPILERS:
        linked = options.out / "modules" / f"{source.name}-{compiler}.wasm"
        if not linked.is_file():
            linked.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as made:
                link(compiled(source, compiler, Path(made), options), linked)
        for way in PASSES:
            if way == "newer wasm-opt" and not options.wasm_opt:
                continue
            content = after(way, linked, options)
            (outcome,) = execute(content, [Run("own")], {})
            row[f"{compiler}, {way}"] = {"bytes": len(content), "instructions": outcome.fuel}
            print(f"{source.name} {compiler} {way}: {len(content)}", file=sys.stderr, flush=True)
            expected = expected or outcome
            if outcome != expected:
                raise RuntimeError(f"{source.name} {compiler} {way}: {outcome}, not {expected}")
    content = by_burnish(source, ["--whole-program", "--budget", options.program_budget])
    (outcome,) = execute(content, [Run("own")], {})
    if outcome != expected:
        raise RuntimeError(f"{source.name} as one module: {outcome}, not {expected}")
    return row | {f"{WHOLE}, passes": {"bytes": len(content), "instructions": outcome.fuel}}


def by_burnish(source: Source, own: Sequence[str]) -> bytes:
    """Return a program that burnish cc compiled and linked, with some of its own options."""
    command = [str(find_tool("burnish-cc")), "--remember=none", *own, *TARGET, "-Oz", "-w"]
    with tempfile.TemporaryDirectory() as folder:
        made, objects = Path(folder) / "made.wasm", []
        for number, file in enumerate(source.files):
            objects.append(str(Path(folder) / f"{number}.o"))
            words = [*source.flags, "-c", file, "-o", objects[-1]]
            subprocess.run([*command, *words], cwd=source.folder, check=True)
        link = ["-s", "-Wl,-O2,--compress-relocations", *objects, "-o", str(made)]
        subprocess.run([*command, *link], check=True)
        return made.read_bytes()


def compiled(source: Source, compiler: str, made: Path, options: argparse.Namespace) -> list[Path]:
    """Compile all files of a program; return the objects."""

    def one(file: str) -> Path:
        target = made / f"{compiler}-{source.files.index(file)}.o"
        words = [*TARGET, *source.flags]
        if compiler == "burnish":
            own = ["--remember=none", "--budget", options.budget]
            command = [str(find_tool("burnish-cc")), *own, *words, "-Oz", "-w", "-c", file, "-o", str(target)]
        else:
            command = [sys.executable, str(Path(__file__).resolve()), "--as-clang", file, str(target), *words]
        subprocess.run(command, cwd=source.folder, check=True, stdout=subprocess.DEVNULL)
        return target

    with ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(one, source.files))


def as_clang(file: str, target: str, words: Sequence[str]) -> None:
    """Write clang's object at -Oz: clang from the package index makes no code for WebAssembly, LLVM does."""
    task = load_task("llvm_passes")
    session = task.baseline("Oz")(task.source().load(file, tuple(words)).program)
    Path(target).write_bytes(task.files.emitters[".o"](session, (), "Oz"))


def link(objects: Sequence[Path], target: Path) -> None:
    """Link objects to a module, as small as wasm-ld can."""
    words = ["-O2", "--compress-relocations", "--strip-all", f"-L{LIBRARIES}", f"{LIBRARIES}/crt1.o"]
    linker = find_tool("wasm-ld")
    subprocess.run([linker, *words, *objects, "-lc", BUILTINS, "-o", target], check=True)


def after(way: str, linked: Path, options: argparse.Namespace) -> bytes:
    """Return a module after one of PASSES."""
    if way == "linked":
        return linked.read_bytes()
    if way == "wasm-opt":
        program = Program(linked.name, "wasm", linked.read_bytes())
        return load_task("wasm_passes").baseline("Oz")(program).object_code()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.wasm"
        if way == "newer wasm-opt":
            features = [f"--enable-{name}" for name in FEATURES]
            command = [*shlex.split(options.wasm_opt), *features, "-Oz", str(linked), "-o", str(made)]
        else:
            command = [sys.executable, "-m", "burnish.cli", "optimize", str(linked), "-o", str(made)]
            command += ["--budget", options.pass_budget]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return made.read_bytes()


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables, as Markdown: bytes, and executed instructions, each against clang -Oz."""
    ways = [key for key in rows[0] if ", " in key]
    titles = [_title(*way.split(", ")) for way in ways]
    lines = [f"| module | {' | '.join(titles)} |", "|---" * (len(ways) + 1) + "|"]
    for row in rows:
        lines.append(f"| {row['module']} | {_changes([row[way]['bytes'] for way in ways])} |")
    sums = [sum(row[way]["bytes"] for row in rows) for way in ways]
    lines.append(f"| all | {_changes(sums)} |")
    means = [_mean(rows, way, ways[0]) for way in ways[1:]]
    lines.append(f"| instructions, geometric mean | | {' | '.join(f'{mean - 1:+.1%}' for mean in means)} |")
    return "\n".join(lines)


def _title(compiler: str, way: str) -> str:
    if compiler == WHOLE:
        return WHOLE
    if compiler == "clang":
        return TITLES[way]
    return "burnish" if way == "linked" else f"burnish + {TITLES[way]}"


def _mean(rows: Sequence[Mapping[str, Any]], way: str, first: str) -> float:
    """Return the geometric mean of the ratios of executed instructions."""
    ratios = [row[way]["instructions"] / row[first]["instructions"] for row in rows]
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def _changes(sizes: Sequence[int]) -> str:
    return " | ".join([f"{sizes[0]:,}", *(f"{size / sizes[0] - 1:+.1%}" for size in sizes[1:])])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-clang"]:
        as_clang(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main()
