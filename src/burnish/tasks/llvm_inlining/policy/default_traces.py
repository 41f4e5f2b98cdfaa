"""Observations of the inliner while its own heuristic answers all questions: MLGO's default traces.

ml-compiler-opt computes the quantiles of its features from such traces (tools/generate_default_trace.py,
generate_vocab.py), so that a network's inputs are scaled by their distribution in real builds.
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
    """Return an environment's observations at up to `most` questions, module by module.

    Args:
        task: llvm_inlining.
        source: The modules; those that do not compile are left out.
        observation: LLVM's features, the heuristic's answer, or both.
        most: The largest number of questions.
        limits: The limits of the process that compiles.

    Raises:
        InputError: LLVM asks in none of the modules, or tables lack the observation.
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
        if not one.trace:  # other answers lead to other questions
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
