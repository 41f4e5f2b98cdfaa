"""Results in files, and the programs that they are of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from burnish.cli.workloads import WORD, with_runs
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.corpora.references import is_reference, resolve_one
from burnish.programs import link_programs
from burnish.tasks import load_task
from burnish.tasks.llvm_passes import Options, make_task
from burnish.toolchain import C_SUFFIXES, CXX_SUFFIXES, IR_SUFFIXES


def read_results(path: Path) -> list[Result]:
    """Read what `burnish optimize` wrote with --result or --json.

    Raises:
        InputError: there is no such file, no result in it, or something else.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    rows = [Result.from_json(line) for line in lines if line.strip()]
    if not rows:
        raise InputError(f"{path}: no result in it")
    return rows


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


def load_source(row: Result) -> Program:
    """Load the program that a result is of from where the result says it is.

    Raises:
        InputError: it does not say, or the program is not there.
    """
    if not row.source:
        raise InputError(f"{row.program}: the result does not say where the program is; give --program")
    known = C_SUFFIXES | CXX_SUFFIXES | IR_SUFFIXES
    files = [
        word
        for word in row.source
        if is_reference(word) or (not word.startswith("-") and Path(word).suffix in known)
    ]
    others = row.source[len(files) :]
    runs = [word.removeprefix(WORD) for word in others if word.startswith(WORD)]
    clang = [word for word in others if not word.startswith(WORD)]
    level = row.options.get("level", Options().level)
    programs = [resolve_one(file, clang, level=level) for file in files]
    return with_runs(programs[0] if len(programs) == 1 else link_programs(programs), runs, files, clang)


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
