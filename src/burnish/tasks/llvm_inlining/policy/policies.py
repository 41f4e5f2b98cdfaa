"""Evaluation of a policy against LLVM's heuristic, and the importance of its features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.evaluation.importance import FeatureImportance
from burnish.evaluation.intervals import bootstrap_interval
from burnish.policies.answer import PolicyFile
from burnish.policies.choose import ActionPolicy
from burnish.tasks.llvm_inlining.observations import (
    FEATURES,
    HEURISTIC,
    HEURISTIC_ANSWER,
    INLINED,
    INLINING_FEATURES,
    WOULD,
)
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, observations_of
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Against:
    """The result of a policy's answers in one module, without search."""

    program: str
    heuristic: float  # cost under LLVM's own answers
    policy: float  # cost under the policy's answers
    questions: int  # number of questions that the policy answered
    others: int  # number of answers that differ from the heuristic's

    @property
    def ratio(self) -> float:
        """The heuristic's cost over the policy's; above 1, the policy is better."""
        return self.heuristic / self.policy


@dataclass(frozen=True)
class AgainstAll:
    """Summary over modules: the geometric mean of the ratios, with its bootstrap interval."""

    modules: int
    ratio: float
    low: float
    high: float
    total: float  # ratio of the summed costs
    better: int  # modules in which the policy is better
    worse: int


def against_heuristic(
    task: Task, programs: Sequence[Program], policy: PolicyFile, objective: str, limits: Limits = Limits()
) -> Iterator[Against]:
    """Yield the result of each module; modules without questions, or that do not compile, are left out."""
    worker = Worker(limits)
    try:
        for program in programs:
            try:
                session = Sandbox(task.open, program, worker=worker)
                if not session.question():
                    continue
                before = session.fork().measure(objective)
                trace = session.answer(policy)
                cost, others = session.measure(objective), _others(session)
                yield Against(program.name, before, cost, len(trace), others)
                session.close()
            except (CompilerCrash, ProgramError):
                continue
    finally:
        worker.close()


def _others(session: Sandbox) -> int:
    rows = np.asarray(session.observe("questions"))
    return int((rows[:, WOULD] != rows[:, INLINED]).sum())


def summary_of(rows: Sequence[Against], *, seed: int = 0) -> AgainstAll:
    """Return the summary over modules.

    Raises:
        InputError: there are no modules.
    """
    if not rows:
        raise InputError("no module in which LLVM asks; nothing to compare")
    logs = [math.log(row.ratio) for row in rows]
    low, high = bootstrap_interval(logs, [(value, value) for value in logs], CONFIDENCE, seed=seed)
    return AgainstAll(
        len(rows),
        math.exp(math.fsum(logs) / len(logs)),
        math.exp(low),
        math.exp(high),
        sum(row.heuristic for row in rows) / sum(row.policy for row in rows),
        sum(row.ratio > 1 for row in rows),
        sum(row.ratio < 1 for row in rows),
    )


def permutation_importance(
    policy: ActionPolicy, tables: Sequence[Decisions], *, repeats: int = 5, seed: int = 0
) -> list[FeatureImportance]:
    """Return the importance of each feature, most important first: permute it over all tried decisions.

    See Breiman, Random Forests, 2001, section 10. A feature that both LLVM and the heuristic have, such as
    the threshold, is permuted in each separately.

    Raises:
        InputError: no decision was tried the other way.
    """
    rows = np.concatenate([one.rows[one.tried] for one in tables] or [np.zeros((0, 43), dtype=np.int64)])
    changes = np.concatenate([one.changes[one.tried] for one in tables] or [np.zeros(0)])
    if not len(rows):
        raise InputError("no decision was tried the other way: nothing to weigh the features by")
    names = observed_by(policy)
    answers = answers_on(policy, rows, names)
    cost = changes[answers != rows[:, INLINED]].sum()
    columns = [*range(len(FEATURES))] if INLINING_FEATURES in names else []
    if HEURISTIC_ANSWER in names:
        columns += range(WOULD, INLINED)
    rng = np.random.default_rng(seed)
    found = []
    for column in columns:
        changed, costs = [], []
        for _ in range(repeats):
            permuted = rows.copy()
            permuted[:, column] = rng.permutation(permuted[:, column])
            others = answers_on(policy, permuted, names)
            changed.append(float((others != answers).mean()))
            costs.append(float(changes[others != rows[:, INLINED]].sum() - cost))
        of_heuristic = column - WOULD
        name = FEATURES[column] if of_heuristic < 0 else f"heuristic: {HEURISTIC[of_heuristic]}"
        numbers = np.mean(changed), np.mean(costs), np.std(costs)
        found.append(FeatureImportance(name, *map(float, numbers)))
    return sorted(found, key=lambda item: (-item.cost, -item.changed, item.name))


def observed_by(policy: ActionPolicy) -> tuple[str, ...]:
    """Return the names of a policy's observations.

    Raises:
        InputError: tables of decisions lack one of the observations.
    """
    seen = policy.card.get("observation", INLINING_FEATURES)
    names = (seen,) if isinstance(seen, str) else tuple(seen)
    if unknown := [name for name in names if name not in (INLINING_FEATURES, HEURISTIC_ANSWER)]:
        raise InputError(f"the policy looks at {unknown[0]!r}, which tables of decisions do not have")
    return names


def answers_on(policy: ActionPolicy, rows: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
    """Return a policy's answers to N questions, int64[N], from their rows [N, 43]."""
    single = isinstance(policy.card.get("observation"), str)
    observations = observations_of(rows, names[0] if single else tuple(names))
    mask = np.ones((len(rows), len(policy.actions)), dtype=bool)
    answers: NDArray[np.int64] = policy.log_probs(observations, mask).argmax(axis=1)
    return answers
