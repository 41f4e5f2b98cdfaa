"""Results in files, and the programs that they are of."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from burnish.cli.workloads import WORD, with_runs
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.corpora.references import is_reference, is_runnable, resolve_one
from burnish.evaluation.bundle import unbundled
from burnish.files import read_json_lines
from burnish.programs import link_programs, load_program
from burnish.tasks import load_task
from burnish.tasks.llvm_passes import Options, make_task
from burnish.toolchain import C_SUFFIXES, CXX_SUFFIXES, IR_SUFFIXES


def read_results(path: Path) -> list[Result]:
    """Read what `burnish optimize` wrote with --result or --json.

    Raises:
        InputError: there is no such file, no result in it, or something else.
    """
    rows = read_json_lines(path, Result.from_json)
    if not rows:
        raise InputError(f"{path}: no result in it")
    return rows


class Troubles:
    """Errors of single results among many: each is told, and the others go on."""

    def __init__(self, rows: int) -> None:
        self._alone = rows == 1
        self.any = False

    def __enter__(self) -> None:
        """Begin with one result."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._alone or not isinstance(error, InputError):
            return False
        print(f"burnish: error: {error}", file=sys.stderr, flush=True)
        self.any = True
        return True


def task_of(row: Result) -> Task:
    """Return the task with a result's options.

    Raises:
        UnknownName: there is no such task here, or none of that version.
    """
    return task_named(row.task, row.options)


def task_named(name: str, options: Mapping[str, str]) -> Task:
    """Return the task of a name, with the options that differ from its default.

    Raises:
        UnknownName: there is no such task here, or none of that version.
    """
    task = load_task(name)
    return make_task(_options(options)) if options else task


def load_source(row: Result, beside: Path | None = None) -> Program:
    """Load the program that a result is of from where the result says it is.

    Args:
        row: The result.
        beside: The folder of the file of results: a source that is not where the result says, seen from here,
            is where it says, seen from there; relative paths in clang's options are, too.

    Raises:
        InputError: it does not say, or the program is not there.
    """
    if not row.source and not row.bundle:
        raise InputError(f"{row.program}: the result does not say where the program is; give --program")
    files, runs, clang = _parts(row)
    if program := unbundled(row):
        return _with_its_runs(program, row, files, runs, clang)
    if beside and _is_from(beside, files):
        programs = [load_program(file, clang, level=_level(row), directory=beside) for file in files]
    else:
        programs = [resolve_one(file, clang, level=_level(row)) for file in files]
    return with_runs(programs[0] if len(programs) == 1 else link_programs(programs), runs, files, clang)


def _is_from(folder: Path, files: Sequence[str]) -> bool:
    """Return whether files are there as seen from a folder, and not as seen from here."""
    plain = [file for file in files if not is_reference(file)]
    return plain == list(files) and all(
        (folder / file).is_file() and not Path(file).exists() for file in plain
    )


def load_variant(row: Result, level: str, beside: Path | None = None) -> Program:
    """Load a result's program as clang's front end makes it at a level, from the result where it is in it.

    Raises:
        InputError: the program is not there.
    """
    if row.bundle:
        return unbundled(row, level) or load_source(row)
    return load_source(replace(row, options={**row.options, "level": level}), beside)


def _with_its_runs(
    program: Program, row: Result, files: Sequence[str], runs: Sequence[str], clang: Sequence[str]
) -> Program:
    """Return the program of a bundle with how to run it: the suite's programs bring that along."""
    if files and is_runnable(files[0]):
        return replace(program, workload=resolve_one(files[0], level=_level(row)).workload)
    return with_runs(program, runs, files, clang)


def load_elsewhere(row: Result, path: Path, clang: Sequence[str] = ()) -> Program:
    """Load the program that a result is of from another place: its digest does not say where it was.

    Args:
        row: The result; its level counts, and how to run the program.
        path: The file.
        clang: clang's options; by default those of the result.

    Raises:
        InputError: there is no such file, or it cannot be used.
    """
    _, runs, its = _parts(row)
    program = load_program(path, clang or its, level=_level(row))
    return with_runs(program, runs, [str(path)], clang or its)


def _parts(row: Result) -> tuple[list[str], list[str], list[str]]:
    """Return the files of a result's source, the runs, and clang's options."""
    known = C_SUFFIXES | CXX_SUFFIXES | IR_SUFFIXES
    files = list(
        itertools.takewhile(
            lambda word: is_reference(word) or (not word.startswith("-") and Path(word).suffix in known),
            row.source,
        )
    )
    others = row.source[len(files) :]
    runs = [word.removeprefix(WORD) for word in others if word.startswith(WORD)]
    return files, runs, [word for word in others if not word.startswith(WORD)]


def _level(row: Result) -> str:
    return row.options.get("level", Options().level)


def check_same(program: Program, row: Result) -> None:
    """Check that a program is the one that a result is of.

    Raises:
        InputError: it was changed since.
    """
    if program.digest != row.digest:
        raise InputError(f"{program.name} is not the program of the result any more; is it another version?")


def _options(named: Mapping[str, str]) -> Options:
    """Undo the text form of a task's options."""
    default = Options()
    return Options(
        level=named.get("level", default.level),
        always_inline=named.get("always_inline", "True") == "True",
        cpu=named.get("cpu", default.cpu),
        without=named.get("without", default.without),
    )
