"""Rows: one project by one compiler, compared with clang -Oz, as a line of JSON."""

from __future__ import annotations

import os
import platform
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.cc.linked import KINDS, read_linked
from burnish.core.decoding import json_object
from burnish.core.errors import InputError
from burnish.files import read_json_lines
from shipped.building import Built, build, configure_seconds
from shipped.compilers import Compiler
from shipped.projects import Project
from shipped.running import Ran, run_all, run_tests, time_in_turns

Row = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """The settings for measuring every project."""

    folder: Path  # of builds
    inputs: Path
    baseline: Compiler
    rounds: int  # of timing; 0: no run is timed
    jobs: int
    configuring: tuple[Compiler, ...] = ()  # compilers whose time in configure scripts is measured


def measure(bench: Bench, project: Project, compiler: Compiler, *, tables: bool) -> Row:
    """Build a project by a compiler and by the baseline, and compare the programs.

    Raises:
        InputError: a build fails, or a run of the baseline's program fails or is not repeatable.
    """
    inputs = project.inputs or bench.inputs
    before = _build(bench, project, bench.baseline, tables)
    expected = run_all(project, before, inputs)
    again = run_all(project, before, inputs)
    for command, one, other in zip(project.runs, expected, again, strict=True):
        if one.code not in (0, 1) or one.digest != other.digest:
            raise InputError(
                f"{project.name}: {command}: ends with {one.code}, or prints something else each time"
            )
    after = _build(bench, project, compiler, tables)
    row: Row = {
        "project": project.name,
        "version": project.version,
        "sha256": project.sha256,
        "compiler": compiler.name,
        "compiler_version": compiler.version(),
        "machine": machine(),
        "linker": "lld",
        "tables": tables,
        "programs": {name: _sizes(Path(after.programs[name])) for name in project.programs},
        "objects": len(after.objects),
        "objects_larger": sum(size > before.objects[name] for name, size in after.objects.items()),
        "objects_loaded": sum(after.objects.values()),
        "build_seconds": {"wall": after.wall_seconds, "cpu": after.cpu_seconds},
        "outputs": _difference(project, expected, run_all(project, after, inputs)),
        "tests": run_tests(project, after),
    }
    if compiler in bench.configuring and project.configure and tables:
        pair = [configure_seconds(project, one) for one in (bench.baseline, compiler)]
        row["configure_seconds"] = dict(zip(("baseline", "compiler"), pair, strict=True))
    if compiler != bench.baseline and bench.rounds:
        old, new = time_in_turns(project, [before, after], inputs, bench.rounds)
        medians = {
            name: [statistics.median(times) for times in runs]
            for name, runs in (("baseline", old), ("compiler", new))
        }
        row["run_seconds"] = {**medians, "rounds": [len(times) for times in old]}
        row["run_ratio"] = paired_ratio(old, new)
    return row


def paired_ratio(old: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> float | None:
    """Return the geometric mean, over runs, of the median of the rounds' new / old; None without any.

    A processor's speed may change by a third within a second. A round is short, so that this affects both
    builds.
    """
    paired = [
        [b / a for a, b in zip(*rounds, strict=True) if a > 0 and b > 0]
        for rounds in zip(old, new, strict=True)
    ]
    ratios = [statistics.median(rounds) for rounds in paired if rounds]
    return statistics.geometric_mean(ratios) if ratios else None


def machine() -> str:
    """Return the processor's name and the number of cores."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.+)$", info.read_text() if info.exists() else "", re.MULTILINE)
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def read_rows(path: Path) -> dict[tuple[str, str, bool], Row]:
    """Return the rows of a file by (project, compiler, tables); no rows if there is no file."""
    rows = read_json_lines(path, json_object) if path.exists() else []
    return {(row["project"], row["compiler"], row["tables"]): row for row in rows}


def _build(bench: Bench, project: Project, compiler: Compiler, tables: bool) -> Built:
    name = re.sub(r"\W+", "-", compiler.name).strip("-")
    folder = bench.folder / project.name / ("tables" if tables else "no-tables") / name
    return build(project, compiler, folder, tables=tables, jobs=bench.jobs)


def _sizes(program: Path) -> Row:
    linked = read_linked(program)
    sections: Counter[str] = Counter()
    for section in linked.sections:
        sections[section.name] += section.size_bytes
    return {
        "loaded_bytes": linked.loaded_bytes,
        "file_bytes": program.stat().st_size,
        "bss_bytes": linked.bss_bytes,
        "kinds": {kind: linked.of_kind(kind) for kind in KINDS},
        "sections": dict(sections),
    }


def _difference(project: Project, expected: list[Ran], found: list[Ran]) -> str:
    """Return the first difference between two lists of runs, or "" if they are equal."""
    for command, one, other in zip(project.runs, expected, found, strict=True):
        if one.digest != other.digest:
            if one.code != other.code:
                return f"{command}: code {other.code}, expected {one.code}"
            return f"{command}: {first_difference(one.printed, other.printed)}"
    return ""


def first_difference(before: bytes, after: bytes) -> str:
    """Return the first pair of lines that differ, with their number."""
    texts = [text.decode(errors="replace") for text in (before, after)]
    pairs = zip(*([*text.splitlines(), "<end>"] for text in texts), strict=False)
    number, (old, new) = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return f"line {number}\n  clang -Oz: {old}\n  new:       {new}"
