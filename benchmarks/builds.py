"""Builds of a project one after another: what the memory of `burnish cc` saves in bytes and in time.

    python benchmarks/builds.py [--projects lua,mawk,expat,bzip2] [--improve 20] [--out builds.jsonl]

`burnish cc` builds each project with an empty memory: first; again, unchanged; with another comment in each
header; with a changed function in each source; and unchanged once more, after `burnish improve` for --improve
times clang's time. clang -Oz builds it right before and after each of these builds: the unit is the mean of
its two times. Sizes are loaded bytes of all objects, against clang's of the same sources. Times are processor
times of all processes that a build starts, with the server of `burnish cc`, which ends with the build. One
compiler runs at a time.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from shipped.building import object_name
from shipped.compilers import ENVIRONMENT, SECTIONS, WITHOUT_TABLES
from shipped.projects import Project, load_project, project_names

from burnish import _native
from burnish.core.errors import UnknownName
from burnish.llvm.toolchain import find_tool

DEFAULT = "lua,mawk,expat,bzip2"
BODY = re.compile(r"^\w[^;{}#]*\)\s*\{\n", re.MULTILINE)  # the head of a function with its brace
CHANGED = "changed_by_benchmark"
CHILD_SUBREAPER = 36  # orphans become children of this process: include/uapi/linux/prctl.h


@dataclass(frozen=True)
class Building:
    """A copy of a project that is built again and again in one folder."""

    project: Project
    folder: Path
    tables: bool

    def build(self, compiler: Sequence[str]) -> float:
        """Compile all sources of the project's programs; return the processor seconds of all processes."""
        flags = ["-Oz", *SECTIONS, *(() if self.tables else WITHOUT_TABLES), *self.project.flags]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as runtime:
            environment = ENVIRONMENT | {"XDG_RUNTIME_DIR": runtime}
            for source in self.sources():
                words = [*compiler, *flags, "-c", str(source), "-o", str(self.object(source))]
                subprocess.run(words, cwd=self.folder, env=environment, check=True, capture_output=True)
            end_orphans()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def sources(self) -> list[Path]:
        """Return the sources of all programs, each once."""
        own = [path for paths in self.project.programs.values() for path in paths]
        return list(dict.fromkeys([*self.project.sources, *own]))

    def object(self, source: Path) -> Path:
        """Return the object of a source."""
        return self.folder / object_name(source, self.project.root)

    def bytes(self) -> int:
        """Return the loaded bytes of all objects."""
        objects = (self.object(source).read_bytes() for source in self.sources())
        return sum(int(_native.object_sizes(content, True).loaded_bytes) for content in objects)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", default=DEFAULT, help=f"of {', '.join(project_names())}")
    parser.add_argument("--improve", type=float, default=20.0, help="times clang's time (default: 20)")
    parser.add_argument("--budget", default="", help="of burnish cc (default: its own)")
    parser.add_argument("--tables", choices=("with", "without"), default="with", help="unwind tables")
    parser.add_argument("--out", type=Path, help="append the rows of JSON")
    options = parser.parse_args()
    names = options.projects.split(",")
    ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
    for name in names:
        if name not in project_names():
            raise UnknownName.among("project", name, project_names())
    rows = []
    for name in names:
        row = measured(name, tables=options.tables == "with", improve=options.improve, budget=options.budget)
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if options.out:
            with options.out.open("a") as out:
                out.write(json.dumps(row) + "\n")
    show(rows)


def measured(name: str, *, tables: bool, improve: float, budget: str) -> dict[str, Any]:
    """Return the row of a project: for each build, clang's size and seconds, and its own against these."""
    archives = Path(tempfile.gettempdir()) / "burnish-ships" / "archives"
    with tempfile.TemporaryDirectory(prefix="burnish-builds-") as scratch:
        folder = Path(scratch)
        if archives.is_dir():
            shutil.copytree(archives, folder / "archives")
        (folder / "objects").mkdir()
        building = Building(load_project(name, folder), folder / "objects", tables)
        clang = [str(find_tool("clang"))]
        log, memory = folder / "log.jsonl", folder / "memory"
        burnish = ["burnish-cc", "--report", str(log), "--remember", str(memory)]
        burnish += ["--budget", budget] if budget else []
        row: dict[str, Any] = {
            "project": name,
            "tables": tables,
            "budget": budget,
        }

        def by_burnish(build: str) -> None:
            log.unlink(missing_ok=True)
            before, reference = building.build(clang), building.bytes()
            taken, size = building.build(burnish), building.bytes()
            clang_seconds = (before + building.build(clang)) / 2
            records = [json.loads(line) for line in log.read_text().splitlines()]
            row[build] = {
                "clang": reference,
                "clang_seconds": clang_seconds,
                "change": size / reference - 1,
                "time": taken / clang_seconds,
                "recalled": sum(record.get("recalled", False) for record in records),
                "searched": sum(record["evaluations"] > 0 for record in records),
                "evaluations": sum(record["evaluations"] for record in records),
            }

        by_burnish("first")
        by_burnish("again")
        comment(building.project.root)
        by_burnish("comment")
        for source in building.sources():
            change(source, building, clang)
        by_burnish("changed")
        seconds = improve * row["changed"]["clang_seconds"]
        line = [
            "burnish",
            "improve",
            "--jobs=1",
            "--nice=0",
            f"--for={seconds:.1f}s",
            f"--remember={memory}",
        ]
        subprocess.run(line, cwd=building.folder, env=ENVIRONMENT, check=True, capture_output=True)
        end_orphans()  # before the next build counts them
        by_burnish("improved")
    return row


def end_orphans() -> None:
    """End the processes that a build has left, and wait for them: their time counts then."""
    left = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for process in map(int, left):
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)


def comment(root: Path) -> None:
    """Write another comment at the beginning of each header."""
    for header in root.rglob("*.h"):
        header.write_bytes(b"/* another comment */\n" + header.read_bytes())


def change(source: Path, building: Building, clang: Sequence[str]) -> None:
    """Change the first function of a source, which then also writes a variable."""
    text = source.read_text(encoding="latin-1")
    if not (head := BODY.search(text)):
        return
    at = head.end()
    written = f"extern volatile int {CHANGED};\n"
    changed = f"{text[: head.start()]}{written}{text[head.start() : at]}{CHANGED} = 1;\n{text[at:]}"
    source.write_text(changed, encoding="latin-1")
    words = [*clang, "-fsyntax-only", "-w", *building.project.flags, str(source)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        source.write_text(text, encoding="latin-1")


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the changes of size and the times of all builds."""
    console = Console(width=150, highlight=False)
    builds = ("first", "again", "comment", "changed", "improved")
    console.print(f"{'':12}" + "".join(f"{build:>22}" for build in builds))
    for row in rows:
        cells = (f"{100 * row[build]['change']:+.2f} % {row[build]['time']:.2f}x" for build in builds)
        console.print(f"{row['project']:12}" + "".join(f"{cell:>22}" for cell in cells))
    for build in builds:
        size = _weighted([row[build] for row in rows], "change", "clang")
        time = _weighted([row[build] for row in rows], "time", "clang_seconds")
        console.print(f"{build}: {100 * size:+.2f} % in total, {time:.2f} times clang's processor time")


def _weighted(builds: Sequence[dict[str, Any]], name: str, weight: str) -> float:
    return float(
        sum(build[weight] * build[name] for build in builds) / sum(build[weight] for build in builds)
    )


if __name__ == "__main__":
    main()
