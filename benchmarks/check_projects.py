"""Build real projects with a compiler and with `clang -Oz`; compare what the programs print, and their sizes.

    python benchmarks/check_projects.py --cc "burnish cc --budget 2s" [--projects lz4,zopfli,cmarkgfm]

The projects are the workloads of burnish.corpora: a pinned package with a driver of ours, for round trips,
known answers, scripts. Both builds take the same sources and run on every input. Exit codes: 0, the outputs
are equal; 1, one differs or does not build (or, with --never-larger, an object's .text grew); 2, wrong usage.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from burnish import _native
from burnish.core.errors import BurnishError, InputError, UnknownName
from burnish.corpora import fetch, find_package
from burnish.corpora.workloads import FLAGS, find_recipe, workload_names
from burnish.toolchain import find_tool

MAKEFILE = Path(__file__).with_name("project.mk")
DEFAULT = "lz4,zopfli,cmarkgfm"
MOST_SHOWN = 4


@dataclass(frozen=True)
class Build:
    """One project, built by one compiler."""

    output: str  # what its runs print, one after the other
    objects: dict[str, int]  # .text bytes of every object file, by path
    program_bytes: int  # .text bytes of the linked program
    seconds: float  # of building, without running


@dataclass(frozen=True)
class Comparison:
    """A project as clang -Oz and as another compiler build it."""

    project: str
    baseline: Build
    candidate: Build

    @property
    def is_same(self) -> bool:
        """Say whether both programs print the same."""
        return self.baseline.output == self.candidate.output

    @property
    def larger(self) -> list[str]:
        """Return the objects whose .text grew."""
        sizes = self.candidate.objects
        return [path for path, size in self.baseline.objects.items() if sizes.get(path, 0) > size]


def build(project: str, source: Path, directory: Path, cc: str, cflags: str, jobs: int) -> Build:
    """Build a project into a folder and run it.

    Raises:
        InputError: it does not build, or its program fails; the message is what was printed last.
    """
    recipe = find_recipe(project)
    flags = [*FLAGS, *recipe.flags, *recipe.include_flags(source)]
    variables = {
        "CC": cc,
        "CFLAGS": cflags,
        "SRC": source,
        "BUILD": directory,
        "SOURCES": " ".join(recipe.find_sources(source)),
        "DRIVER": recipe.folder / "driver.c",
        "FLAGS": shlex.join(flags),
        "LIBRARIES": shlex.join(recipe.libraries),
    }
    command = ["make", "--no-print-directory", "-s", "-f", str(MAKEFILE), f"-j{jobs}"]
    start = time.perf_counter()
    _run([*command, *(f"{name}={value}" for name, value in variables.items()), "all"], cc)
    seconds = time.perf_counter() - start
    program = directory / "program"
    outputs = [_run([str(program), *run.arguments], cc, recipe.folder) for run in recipe.runs]
    objects = {
        path.relative_to(directory).as_posix(): _text_bytes(path) for path in sorted(directory.rglob("*.o"))
    }
    return Build("".join(outputs), objects, _text_bytes(program), seconds)


def compare(project: str, packages: Path, cc: str, cflags: str, jobs: int) -> Comparison:
    """Build a project both ways in a temporary folder."""
    if project not in workload_names():
        raise UnknownName.among("project", project, workload_names())
    source = fetch(find_package(project), packages).resolve()
    with tempfile.TemporaryDirectory(prefix="burnish-project-") as scratch:
        baseline = build(project, source, Path(scratch, "baseline"), str(find_tool("clang")), "-Oz", jobs)
        candidate = build(project, source, Path(scratch, "candidate"), cc, cflags, jobs)
    return Comparison(project, baseline, candidate)


def table_of(comparisons: Sequence[Comparison], cc: str) -> Table:
    """Return the table that is printed: .text bytes under both compilers."""
    table = Table(title=f"clang -Oz and {cc}: .text bytes", title_justify="left")
    for name in (
        "project",
        "objects",
        "-Oz",
        "new",
        "change",
        "larger",
        "program -Oz",
        "new",
        "seconds",
        "output",
    ):
        table.add_column(name, justify="left" if name in ("project", "output") else "right")
    for one in comparisons:
        before, after = sum(one.baseline.objects.values()), sum(one.candidate.objects.values())
        table.add_row(
            one.project,
            str(len(one.baseline.objects)),
            f"{before:,}",
            f"{after:,}",
            f"{100 * (after - before) / before:+.2f} %",
            str(len(one.larger)),
            f"{one.baseline.program_bytes:,}",
            f"{one.candidate.program_bytes:,}",
            f"{one.candidate.seconds:.1f}",
            "same" if one.is_same else "DIFFERENT",
        )
    return table


def first_difference(before: str, after: str) -> str:
    """Return the first lines that differ."""
    pairs = zip([*before.splitlines(), "<end>"], [*after.splitlines(), "<end>"], strict=False)
    number, (old, new) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return f"line {number}\n  clang -Oz: {old}\n  new:       {new}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    # what -O the compiler's own command names must not be overruled by ours
    default = "" if any(word.startswith("-O") for word in shlex.split(options.cc)) else "-Oz"
    cflags = default if options.cflags is None else options.cflags
    comparisons, failures = [], 0
    with tempfile.TemporaryDirectory(prefix="burnish-packages-") as scratch:
        for project in options.projects.split(","):
            try:
                one = compare(project, options.packages or Path(scratch), options.cc, cflags, options.jobs)
            except UnknownName as error:
                console.print(str(error), markup=False, style="red")
                return 2
            except BurnishError as error:
                console.print(f"{project}: {error}", markup=False, style="red")
                failures += 1
                continue
            comparisons.append(one)
            failures += not one.is_same or (options.never_larger and bool(one.larger))
    console.print(table_of(comparisons, options.cc))
    for one in comparisons:
        if not one.is_same:
            difference = first_difference(one.baseline.output, one.candidate.output)
            console.print(f"{one.project}: the outputs differ from {difference}", markup=False)
        if one.larger:
            shown = ", ".join(one.larger[:MOST_SHOWN]) + (", ..." if len(one.larger) > MOST_SHOWN else "")
            console.print(f"{one.project}: {len(one.larger)} larger than -Oz: {shown}", markup=False)
    return 1 if failures else 0


def _run(command: Sequence[str], cc: str, directory: Path | None = None) -> str:
    # "burnish cc" and the like are found beside this Python, activated or not
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=directory, env=os.environ | {"PATH": path}
    )
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise InputError(f"built with {cc!r}, it fails:\n{last}")
    return done.stdout


def _text_bytes(path: Path) -> int:
    return int(_native.object_sizes(path.read_bytes()).text_bytes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="compare a compiler's builds of real projects with clang -Oz's"
    )
    parser.add_argument(
        "--cc", required=True, help='the compiler, such as "burnish cc --budget 2s" or "clang -Os"'
    )
    parser.add_argument("--cflags", help="its flags (default: -Oz, or none if --cc names a level)")
    parser.add_argument(
        "--projects", default=DEFAULT, help=f"of {', '.join(workload_names())} (default: {DEFAULT})"
    )
    parser.add_argument("--packages", type=Path, help="where fetched packages are kept (default: nowhere)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of make (default: all cores)")
    parser.add_argument("--never-larger", action="store_true", help="fail, too, where an object's .text grew")
    return parser


if __name__ == "__main__":
    sys.exit(main())
