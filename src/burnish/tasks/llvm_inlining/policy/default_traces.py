"""What the inliner observes where its own heuristic answers everything: MLGO's default traces.

ml-compiler-opt makes the vocabulary of its features of these (tools/generate_default_trace.py,
generate_vocab.py), so that a network sees them as they are spread over real builds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.files import read_json_lines
from burnish.tasks.llvm_inlining.observations import QUESTIONS, ROW
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Observed, observations_of
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker

Source = Sequence[Program] | Path
"""Programs, or a file of `burnish inliner decisions`."""


def default_observations(
    task: Task, source: Source, observation: Observed, *, most: int, limits: Limits = Limits()
) -> list[Any]:
    """Return what environments with some observation show at so many questions at most, module by module.

    Args:
        task: llvm_inlining.
        source: Modules that cannot be compiled are left out.
        observation: One of LLVM's features and the heuristic's answer, or both.
        most: Questions.
        limits: Of the process that compiles.

    Raises:
        InputError: nothing is asked in any module, or tables have no such observation.
    """
    tables = _tables(source) if isinstance(source, Path) else _compiled(task, source, limits)
    rows: list[NDArray[np.int64]] = []
    for table in tables:
        rows.append(table[: most - sum(map(len, rows))])
        if sum(map(len, rows)) >= most:
            break
    if not sum(map(len, rows)):
        raise InputError("no module in which LLVM asks; there is nothing to standardize features by")
    return observations_of(np.concatenate(rows), observation)


def _tables(path: Path) -> Iterator[NDArray[np.int64]]:
    for one in read_json_lines(path, Decisions.from_json, appended=True):
        if not one.trace:  # under other answers, questions are other ones
            yield one.rows


def _compiled(task: Task, programs: Sequence[Program], limits: Limits) -> Iterator[NDArray[np.int64]]:
    worker = Worker(limits)
    try:
        for program in programs:
            try:
                session = Sandbox(task.open, program, worker=worker)
                yield np.asarray(session.observe(QUESTIONS), dtype=np.int64)[:, : len(ROW)]
                session.close()
            except (CompilerCrash, ProgramError):
                continue
    finally:
        worker.close()
