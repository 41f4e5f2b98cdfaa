"""A policy's predictions in one state: how probable each legal action is, and the cost after it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field

import numpy as np

from burnish.core.errors import BurnishError
from burnish.core.guide import Guide, Prior, State, StatePolicy
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.session import Session, first_places
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry, of_program
from burnish.policies import find
from burnish.workers.worker import Limits, Worker

KEPT = 256  # states whose predictions are kept
COST_SECONDS = 2.0  # for the predicted costs of one state's actions: later actions get none


@dataclass(frozen=True)
class Predictions:
    """A policy's predictions in one state, by entry; entries without a prediction are left out."""

    policy: str = ""  # its name; "" without a policy
    probabilities: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)  # predicted cost after the entry / before it


class Predictor:
    """Asks a policy about the states of one program, in a worker process of its own."""

    def __init__(self, task: Task, program: Program, policy: str, objective: str, limits: Limits) -> None:
        """Look the policy up; the worker starts with the first call.

        Args:
            task: The task whose actions the policy chooses.
            program: The program.
            policy: "shipped", "none", a name of burnish tasks, or a file.
            objective: The objective that is minimised.
            limits: The limits of the worker process.

        Raises:
            UnknownName: the policy is unknown.
            InputError: the file is not a policy, or is for another task.
        """
        found = find.find_guide(policy, task, objective)
        self.name = found[1] if found else ""
        self._question = task, program, policy, objective
        self._worker = Worker(limits)
        self._lock = threading.Lock()  # of the worker, which answers one thread at a time
        self._known: Recent[tuple[Trace, Trace], Predictions] = Recent(KEPT)  # by trace and entries

    def __call__(self, trace: Trace, entries: Sequence[str]) -> Predictions:
        """Return the predictions after a trace for the entries that are legal there.

        Raises:
            BurnishError: the policy cannot predict, or the compiler fails.
        """
        if not self.name:
            return Predictions()
        with self._lock:
            asked = (trace, tuple(entries))
            if (known := self._known.get(asked)) is None:
                known = self._worker.call(predict, *self._question, *asked)
                self._known.put(asked, known)
            return known

    def close(self) -> None:
        """End the worker process."""
        self._worker.close()


def predict(
    task: Task, program: Program, policy: str, objective: str, trace: Trace, entries: Sequence[str]
) -> Predictions:
    """Return a policy's predictions after a trace; a worker calls this."""
    found = find.find_guide(policy, task, objective)
    if not found:
        return Predictions()
    guide_for, name = found
    with closing(task.open(program)) as session:
        guide = guide_for(session)
        session.replay(trace)
        return Predictions(name, _probabilities(guide, session), _ratios(guide, session, entries))


def _probabilities(guide: Guide, session: Session) -> dict[str, float]:
    if guide.policy:
        return _of_policy(guide.policy, session)
    return _of_prior(guide.prior.among(session.actions), session) if guide.prior else {}


def _of_policy(policy: StatePolicy, session: Session) -> dict[str, float]:
    """Return the probabilities of a policy that looks at the state."""
    sites = first_places(session, policy.sites)
    observed = tuple(session.observe(name) for name in policy.observations)
    places = (session.question(), *sites[1:])
    (prediction,) = policy.predict([State(observed, session.mask(sites), places)])
    rows = np.exp(prediction.log_probs).reshape(-1, len(policy.actions))
    return {
        entry(policy.actions[i], site): float(row[i])
        for site, row in zip(places, rows, strict=False)  # the policy may have more places than the program
        for i in np.flatnonzero(row)
    }


def _of_prior(prior: Prior, session: Session) -> dict[str, float]:
    """Return the probabilities of the next action on the whole program, after the last one on it."""
    before = of_program(tuple(session.trace))
    chances = prior.after(before[-1] if before else "") * session.legal(WHOLE_PROGRAM)
    total = chances.sum() or 1.0
    return {action: float(chance / total) for action, chance in zip(prior.actions, chances, strict=True)}


def _ratios(guide: Guide, session: Session, entries: Sequence[str]) -> dict[str, float]:
    """Return the predicted cost after each entry over the one before it."""
    ratios: dict[str, float] = {}
    if not guide.predicted_cost:
        return ratios
    ends, now = time.monotonic() + COST_SECONDS, guide.predicted_cost(session)
    for text in entries:
        if time.monotonic() > ends:
            break
        with suppress(BurnishError), closing(session.fork()) as after:
            after.apply_entry(text)
            ratios[text] = guide.predicted_cost(after) / now
    return ratios
