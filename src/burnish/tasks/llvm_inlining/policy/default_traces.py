"""Observations of the inliner while its own heuristic answers all questions: MLGO's default traces.

ml-compiler-opt computes the quantiles of its features from such traces (tools/generate_default_trace.py,
generate_vocab.py), so that a network's inputs are scaled by their distribution in real builds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import entry, split_entry
from burnish.files import read_json_lines
from burnish.learning.training.collect import Found
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.observations import (
    FEATURES,
    HEURISTIC_ANSWER,
    INLINED,
    ROW,
)
from burnish.tasks.llvm_inlining.policy.decisions import (
    Decisions,
    Observed,
    Rows,
    observations_of,
    rows_of,
)
from burnish.tasks.llvm_inlining.policy.vocabulary import NAMES, read_vocabulary
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker

Source = Sequence[Program] | Path
"""Programs, a file of `burnish inliner decisions`, or a vocabulary: a folder of .buckets files."""


def default_observations(
    task: Task, source: Source, observation: Observed, *, most: int, limits: Limits = Limits()
) -> list[Any]:
    """Return an environment's observations at up to `most` questions, module by module.

    Of a vocabulary, return its quantiles as if they were observations: they have themselves as quantiles.

    Args:
        task: llvm_inlining.
        source: The modules; those that do not compile are left out.
        observation: LLVM's features, the heuristic's answer, the vectors of callee and caller, or several.
        most: The largest number of questions.
        limits: The limits of the process that compiles.

    Raises:
        InputError: LLVM asks in none of the modules, or tables lack the observation.
    """
    if isinstance(source, Path) and source.is_dir():
        return _of_vocabulary(source, observation)
    tables = _tables(source) if isinstance(source, Path) else _compiled(task, source, observation, limits)
    rows: list[Rows] = []
    for table in tables:
        rows.append(table[: most - sum(map(len, rows))])
        if sum(map(len, rows)) >= most:
            break
    if not sum(map(len, rows)):
        raise InputError("no module in which LLVM asks; there is nothing to standardize features by")
    return observations_of(np.concatenate(rows), observation)


def _of_vocabulary(folder: Path, observation: Observed) -> list[Any]:
    """Return the quantiles of a vocabulary as observations; only the observed features need a file."""
    observed = (observation,) if isinstance(observation, str) else observation
    found = read_vocabulary(folder, NAMES if HEURISTIC_ANSWER in observed else FEATURES)
    rows = np.zeros((len(found), len(ROW)))
    rows[:, : found.shape[1]] = found
    return observations_of(rows, observation)


def best_decided(path: Path) -> list[Found] | None:
    """Return the best known answers for each module in a file of decisions; None for another file.

    They are the module's answers, with the single answer reversed that makes the module cheapest, if one was
    tried that does. The rest of the trace is the heuristic's, as in `Decisions`.

    Raises:
        InputError: the file cannot be read, or a line is malformed.
    """
    with path.open("rb") as file:
        if b'"columns":' not in file.readline():
            return None
    best: dict[tuple[str, str], Found] = {}
    for one in read_json_lines(path, Decisions.from_json, appended=True):
        found = _best_of(one)
        key = found.digest, found.objective
        if key not in best or found.cost < best[key].cost:
            best[key] = found
    return [*best.values()]


def _best_of(one: Decisions) -> Found:
    tried = int(one.tried.sum())
    found = Found(one.program, one.digest, one.objective, one.cost, one.cost, one.trace, 1 + tried)
    if not tried or not np.nanmin(one.changes) < 0:
        return found
    at = int(np.nanargmin(one.changes))
    site, given = one.sites[at], dict(map(split_entry, one.trace))
    if site in given:
        trace = tuple(text for text in one.trace if split_entry(text)[0] != site)
    else:
        trace = (*one.trace, entry(ACTIONS[1 - int(one.rows[at, INLINED])], site))
    return replace(found, cost=one.cost + float(one.changes[at]), trace=trace)


def _tables(path: Path) -> Iterator[NDArray[np.int64]]:
    for one in read_json_lines(path, Decisions.from_json, appended=True):
        if not one.trace:  # other answers lead to other questions
            yield one.rows


def _compiled(
    task: Task, programs: Sequence[Program], observation: Observed, limits: Limits
) -> Iterator[Rows]:
    worker = Worker(limits)
    try:
        for program in programs:
            try:
                session = Sandbox(task.open, program, worker=worker)
                yield rows_of(session, observation)
                session.close()
            except (CompilerCrash, ProgramError):
                continue
    finally:
        worker.close()
