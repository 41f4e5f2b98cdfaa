"""Results in files, and loading of their programs."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.program_source import ProgramSource
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.bundle import PROGRAM, unbundled
from burnish.evaluation.rows import Row
from burnish.files import read_json_lines

CONTENT = "results, as burnish optimize --result FILE writes them"
RUN = "--run="  # in a result's source: prefix of a run's arguments


def read_results(path: Path) -> list[Result]:
    """Read the results that `burnish optimize` wrote with --result or --json.

    Raises:
        InputError: the file does not exist, is empty, or has something other than results.
    """
    rows = read_json_lines(path, Result.from_json, content=CONTENT)
    if not rows:
        raise InputError(f"{path}: the file is empty; expected {CONTENT}")
    return rows


class Troubles:
    """Errors of single results among many: each is printed, and the next result follows."""

    def __init__(self, rows: int) -> None:
        self._alone = rows == 1
        self.any = False

    def __enter__(self) -> None:
        """Begin the work on one result."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if self._alone or not isinstance(error, InputError):
            return False
        print(f"burnish: error: {error}", file=sys.stderr, flush=True)
        self.any = True
        return True


def task_of(row: Result) -> Task:
    """Return the task with a result's options.

    Raises:
        UnknownName: there is no such task here, or it has another version.
    """
    return load_task(row.task).configured(row.options)


def load_source(
    row: Result, beside: Path | None = None, elsewhere: Path | None = None, arguments: Sequence[str] = ()
) -> Program:
    """Load a result's program from the source that the result names, from its bundle, or from another path.

    Args:
        row: The result.
        beside: The folder of the results' file. If a source does not exist relative to the current folder,
            it is read relative to `beside`, as are relative paths in the compiler's options.
        elsewhere: The other path, if any; the program's digest does not depend on its path.
        arguments: The compiler's options there; by default those of the result.

    Raises:
        InputError: the result names no source, or the program is not there.
    """
    if not (row.source or row.bundle or elsewhere):
        raise InputError(f"{row.program}: the result does not have the path of its program; give --program")
    task = task_of(row)
    source, (names, runs, its) = task.source(), _parts(row, task)
    if elsewhere:
        names, its = [str(elsewhere)], list(arguments) or its
        program = source.load(names[0], its).program
    elif bundled := unbundled(row, task.language):
        program = replace(bundled, workload=source.workload(names[0]) if names else None)
    else:
        directory = _directory(source, names, beside)
        programs = [source.load(name, its, directory).program for name in names]
        program = programs[0] if len(programs) == 1 else source.link(programs)
    return source.with_runs(program, runs, names, its)


def load_variants(row: Result, beside: Path | None = None) -> dict[str, Program]:
    """Load variants of a result's program, by baseline: those for which the front end emits other code.

    Raises:
        InputError: the program is not there.
    """
    task = task_of(row)
    if row.bundle:
        found = {name: unbundled(row, task.language, name) for name in row.bundle if name != PROGRAM}
        return {name: program for name, program in found.items() if program}
    source, (names, _, arguments) = task.source(), _parts(row, task)
    directory = _directory(source, names, beside)
    if len(names) == 1:
        return source.variants(names[0], arguments, directory)
    plain = [source.load(name, arguments, directory).program for name in names]
    variants = [source.variants(name, arguments, directory) for name in names]
    return {
        baseline: source.link([own.get(baseline, one) for own, one in zip(variants, plain, strict=True)])
        for baseline in dict.fromkeys(baseline for own in variants for baseline in own)
    }


def check_same(program: Program, row: Result | Row) -> None:
    """Check that a program is the result's program.

    Raises:
        InputError: the program has changed since.
    """
    if program.digest != row.digest:
        raise InputError(f"{program.name} differs from the program of the result; expected the same version")


def _parts(row: Result, task: Task) -> tuple[list[str], list[str], list[str]]:
    """Return the names in a result's source, the runs, and the compiler's options."""
    takes = task.source().takes
    names = list(itertools.takewhile(lambda word: not word.startswith("-") and takes(word), row.source))
    others = row.source[len(names) :]
    runs = [word.removeprefix(RUN) for word in others if word.startswith(RUN)]
    return names, runs, [word for word in others if not word.startswith(RUN)]


def _directory(source: ProgramSource, names: Sequence[str], beside: Path | None) -> Path | None:
    """Return `beside` if all files exist relative to it and not relative to the current folder, else None."""
    if not beside or not all(source.file(name) for name in names):
        return None
    elsewhere = all((beside / name).is_file() and not Path(name).exists() for name in names)
    return beside if elsewhere else None
