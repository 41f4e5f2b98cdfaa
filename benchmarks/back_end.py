"""Comparison of burnish's back end with clang's on units of real projects, under varied options.

    python benchmarks/back_end.py [--projects lua,quickjs] [--folder DIRECTORY]

clang compiles each unit. Then burnish's back end generates code from clang's own bitcode, with the options of
`clang -cc1` and without decisions. Exit codes: 0, all objects are the same; 1, some differ;
2, wrong usage.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table
from shipped.projects import Project, load_project, project_names

from burnish import _native
from burnish.cc.back_end import back_end_of
from burnish.cc.jobs import make_plan
from burnish.core.errors import BurnishError
from burnish.llvm.toolchain import find_tool

OPTIONS = (
    "-Oz",
    "-Oz -ffunction-sections -fdata-sections",
    "-O2 -g -fstack-protector-strong",
    "-Oz -fno-pic -fno-pie",
    "-O3 -fPIC -march=haswell",
    "-Oz -g -ffunction-sections",
    "-Oz -fno-asynchronous-unwind-tables",
    "-Os -ffast-math",
    "-O1 -g1",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--projects", default=",".join(project_names()), help="default: all of ships.py")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "burnish-back-end")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    table = Table("project", "units", "the same object", "others")
    units = same = 0
    try:
        projects = [load_project(name, options.folder.resolve()) for name in options.projects.split(",")]
    except BurnishError as error:
        console.print(str(error), markup=False, style="red")
        return 2
    ways = itertools.cycle(OPTIONS)
    for project in projects:
        found = list(_compared(project, ways))
        others = [f"{name} ({way})" for name, way, is_same in found if not is_same]
        table.add_row(project.name, str(len(found)), str(len(found) - len(others)), ", ".join(others))
        units += len(found)
        same += len(found) - len(others)
    table.add_row("total", str(units), str(same), "")
    console.print(table)
    return int(same < units)


def _compared(project: Project, ways: Iterator[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield the name of each unit of a project, its options, and whether both objects are the same."""
    clang = find_tool("clang++" if project.language == "c++" else "clang")
    paths = [*project.sources, *itertools.chain.from_iterable(project.programs.values())]
    with tempfile.TemporaryDirectory() as folder:
        bitcode, expected = Path(folder, "unit.bc"), Path(folder, "unit.o")
        for path, way in track(list(zip(paths, ways, strict=False)), project.name, transient=True):
            words = [*way.split(), *project.flags, "-c", str(path), "-o", str(expected)]
            plan = make_plan(clang, words, project.root)
            if not plan or not plan.compilations:
                raise BurnishError(f"{path}: clang does not say how it would compile this")
            job = plan.compilations[0].silenced()
            for command in (job.clang_bitcode(bitcode), job.code_generation(bitcode, expected)):
                subprocess.run(command.command, cwd=project.root, check=True)
            back_end = back_end_of(job)
            made = _native.Module(bitcode.read_bytes()).emit_object(back_end) if back_end else b""
            yield path.name, way, made == expected.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
