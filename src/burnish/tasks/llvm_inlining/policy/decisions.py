"""The inliner's decisions in one module, and the credit of each single answer.

MLGO rewards every decision of a module by the size of the whole (Trofin et al. 2021). Here each answer is
also tried the other way, with all other answers unchanged. The change of the cost is the credit of that
answer alone. AggreVaTe (Ross and Bagnell 2014) learns from the same quantity: the cost to go of one deviation
after which the expert continues.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.decoding import json_object
from burnish.core.errors import InputError
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry
from burnish.llvm.representations.ir2vec import DIMENSION
from burnish.search.evaluator import BudgetSpent, Evaluator
from burnish.search.problem import Problem
from burnish.search.space import Batch
from burnish.tasks.llvm_inlining.observations import (
    CALLEE_VECTOR,
    CALLER_VECTOR,
    FEATURES,
    HEURISTIC_ANSWER,
    INLINED,
    INLINING_FEATURES,
    QUESTION_SITES,
    QUESTION_VECTORS,
    QUESTIONS,
    ROW,
    WOULD,
)
from burnish.workers.sandbox import Sandbox

Observed = str | tuple[str, ...]
"""The name of an environment's observation, or the names in its dict of observations."""
WITH_VECTORS = len(ROW) + 2 * DIMENSION
"""The columns of a question's row with the vectors of its callee and caller."""
Rows = NDArray[Any]  # int64, or float64 with the vectors
"""Questions as rows [N, 43], by the columns ROW of the observations, or with their vectors [N, 193]."""


@dataclass(frozen=True)
class Decisions:
    """All decisions of one module under some answers.

    `changes` holds the change of the module's cost if one decision is reversed and all others stay, in units
    of the objective. Above 0, the decision is right. It is NaN for decisions that were not tried.
    """

    program: str
    digest: str
    objective: str
    cost: float
    trace: Trace = field(repr=False)  # the answers; the heuristic decided the rest
    sites: tuple[str, ...] = field(repr=False)  # N, in LLVM's order
    rows: NDArray[np.int64] = field(repr=False)  # [N, 43]: see burnish.tasks.llvm_inlining.observations.ROW
    changes: NDArray[np.float64] = field(repr=False)  # [N]

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Mask of the decisions that were tried the other way: bool[N]."""
        return np.isfinite(self.changes)

    @property
    def better(self) -> NDArray[np.int64]:
        """The cheaper answers, 0 or 1: int64[N]; the given answer if both cost the same or one is unknown."""
        other = np.nan_to_num(self.changes) < 0
        answers: NDArray[np.int64] = np.where(other, 1 - self.rows[:, INLINED], self.rows[:, INLINED])
        return answers

    def to_json(self) -> str:
        """Return one line of JSON; an unknown change is null."""
        changes = [round(float(change), 9) if math.isfinite(change) else None for change in self.changes]
        rows = self.rows.tolist()
        named = {name: getattr(self, name) for name in ("program", "digest", "objective", "cost")}
        more = {"trace": self.trace, "columns": ROW, "sites": self.sites, "rows": rows, "changes": changes}
        return json.dumps(named | more, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Decisions:
        """Read a line that `to_json` returned.

        Raises:
            InputError: the line is something else, or has the columns of another version of LLVM.
        """
        row = json_object(line, "a module's decisions")
        try:
            if tuple(row.pop("columns")) != ROW:
                raise InputError("a module's decisions: the columns are not those of this version of LLVM")
            rows = np.array(row.pop("rows"), dtype=np.int64).reshape(-1, len(ROW))
            changes = np.array([math.nan if x is None else x for x in row.pop("changes")], dtype=np.float64)
            trace, sites = tuple(row.pop("trace")), tuple(row.pop("sites"))
            return cls(**row, trace=trace, sites=sites, rows=rows, changes=changes)
        except (TypeError, KeyError, ValueError) as error:
            raise InputError(f"not a module's decisions: {error}") from None


@dataclass(frozen=True)
class Trying:
    """Settings for trying decisions of a module the other way."""

    most: int | None = None  # number of decisions, drawn with the seed; None: all
    seconds: float | None = None  # time limit for one module; None: no limit
    workers: int = 1
    seed: int = 0
    sites: str = ""  # a regular expression: only decisions at such sites, tried or not


def decide(problem: Problem, trace: Trace = (), trying: Trying = Trying()) -> Decisions:
    """Compile a module under some answers, and try single decisions the other way.

    Args:
        problem: A program of llvm_inlining, and the objective.
        trace: The answers, each different from the heuristic's.
        trying: The number of decisions to try, and limits.

    Raises:
        ProgramError: the program cannot be read.
        CompilerCrash: LLVM fails under the trace alone.
    """
    end = None if trying.seconds is None else time.monotonic() + trying.seconds
    evaluator = Evaluator(problem, workers=trying.workers)
    try:
        session = problem.open(evaluator.workers[0])
        session.replay(trace)
        sites = tuple(str(session.observe(QUESTION_SITES)).split("\n")) if session.sites() or trace else ()
        rows = np.asarray(session.observe(QUESTIONS), dtype=np.int64)[:, : len(ROW)]
        cost = session.measure(problem.goal.name)
        others = dict(_others(trace, session.alternatives()))
        session.close()
        changes = np.full(len(rows), math.nan)
        places = {site: i for i, site in enumerate(sites)}
        kept = [i for i, site in enumerate(sites) if re.search(trying.sites, site)]
        chosen = [sites[i] for i in kept if sites[i] in others]
        if trying.most is not None and trying.most < len(chosen):
            rng = np.random.default_rng((trying.seed, int(problem.program.digest[:8], 16)))
            chosen = [chosen[i] for i in np.sort(rng.permutation(len(chosen))[: trying.most])]
        batch = Batch([others[site] for site in chosen], partial=True)
        with suppress(BudgetSpent):  # a compile takes much longer than the time that is left
            for _ in evaluator.evaluate(batch, most=None, end=end):
                pass
        for site, found in zip(chosen, evaluator.known(batch), strict=True):
            if not found.error:
                changes[places[site]] = found.cost - cost
    finally:
        evaluator.close()
    program = problem.program
    sites = tuple(sites[i] for i in kept)
    table = rows[kept], changes[kept]
    return Decisions(program.name, program.digest, problem.goal.name, cost, trace, sites, *table)


def _others(trace: Trace, alternatives: Trace) -> Iterator[tuple[str, Trace]]:
    """Yield each site with the trace in which only that site's answer is reversed."""
    for entry in alternatives:
        yield split_entry(entry)[0], (*trace, entry)
    for entry in trace:
        yield split_entry(entry)[0], tuple(text for text in trace if text != entry)


def sees_vectors(observation: Observed) -> bool:
    """Return whether an observation has the vector of the callee or of the caller."""
    return not {CALLEE_VECTOR, CALLER_VECTOR}.isdisjoint(_names(observation))


def rows_of(session: Session | Sandbox, observation: Observed) -> Rows:
    """Return the rows of all questions, with the vectors if the observation has one."""
    rows = np.asarray(session.observe(QUESTIONS), dtype=np.int64)[:, : len(ROW)]
    return (
        np.hstack([rows, np.asarray(session.observe(QUESTION_VECTORS))])
        if sees_vectors(observation)
        else rows
    )


def observations_of(rows: Rows, observation: Observed) -> list[Any]:
    """Return an environment's observations at N questions, from their rows.

    Raises:
        InputError: the rows lack the observation.
    """
    asked = np.ones((len(rows), 1), dtype=np.int64)
    parts = {
        INLINING_FEATURES: rows[:, : len(FEATURES)],
        HEURISTIC_ANSWER: np.hstack([asked, rows[:, WOULD:INLINED]]),
    }
    if rows.shape[1] > len(ROW):
        callees, callers = np.hsplit(rows[:, len(ROW) :], [DIMENSION])
        parts |= {CALLEE_VECTOR: callees, CALLER_VECTOR: callers}
    names = _names(observation)
    if unknown := [name for name in names if name not in parts]:
        raise InputError(
            f"{unknown[0]!r} is observed, which tables of decisions do not have; they have {', '.join(parts)}"
        )
    if isinstance(observation, str):
        return list(parts[observation])
    return [{name: parts[name][i] for name in names} for i in range(len(rows))]


def _names(observation: Observed) -> tuple[str, ...]:
    return (observation,) if isinstance(observation, str) else observation
