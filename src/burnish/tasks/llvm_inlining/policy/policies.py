"""Evaluation of a policy against LLVM's heuristic, and the importance of its features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.evaluation.against import Against
from burnish.evaluation.importance import FeatureImportance
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
