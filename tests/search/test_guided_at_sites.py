"""Searches that are guided where sites come and go, or where the compiler asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from burnish.core.guide import Guide, GuideFor, Prediction, Prior, in_order
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace, draw_of, open_entry
from burnish.envs.env import Env
from burnish.policies.choose import Floats, Mask, choose, masked_log_softmax
from burnish.policies.guiding import guide_by
from burnish.search import SEARCHES, Budget, Progress, search
from burnish.search.problem import Problem
from burnish.search.space import Evaluation, SearchSpace
from burnish.workers.worker import GIB, Limits
from tests.core.asking_task import ACTIONS as ANSWERS
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls, optimum
from tests.core.splitting_task import ACTIONS, OPTIMUM, pieces
from tests.core.splitting_task import TASK as SPLITTING
from tests.search.guides import Perfect

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
SITES = 3
CALLS = calls("main 4: f f g; f 2: h; g 6: h; h 5:")


@dataclass(frozen=True)
class Preferring:
    """Prefers the last of the legal actions, wherever; its numbers are an environment's."""

    task: Task
    sites: int
    sure: float = 3.0  # what lies between the logits of an action and the next
    card: dict[str, Any] = field(default_factory=dict)

    @property
    def actions(self) -> tuple[str, ...]:
        return Env(self.task, [one_of(self.task)], sites=self.sites, limits=None)._choice.texts

    def log_probs(self, observations: Sequence[Any], masks: Mask) -> Floats:
        numbers = np.arange(masks.shape[1])
        logits = self.sure * (numbers % len(self.task.actions)) - 0.1 * (numbers // len(self.task.actions))
        return masked_log_softmax(np.tile(logits.astype(np.float32), (len(masks), 1)), masks)

    def evaluate(self, observations: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        return self.log_probs(observations, masks), np.zeros(len(masks), dtype=np.float32)


def one_of(task: Task) -> Program:
    return pieces("6") if task is SPLITTING else CALLS


def preferring(task: Task, sites: int, sure: float = 3.0) -> Preferring:
    card = {"task": task.id, "observation": next(iter(task.observations)), "sites": sites}
    return Preferring(task, sites, sure, card)


def guided(task: Task, method: str, guide_for: GuideFor, budget: int, enough: float = 0.0) -> Result:
    """Search until a cost is enough, or the budget used up."""

    def interrupt(progress: Progress) -> None:
        if progress.best.cost <= enough:
            raise KeyboardInterrupt

    problem, limit = Problem(task, one_of(task), limits=LIMITS), Budget(evaluations=budget, workers=1)
    return search(problem, limit, method=method, seed=1, guide_for=guide_for, progress=interrupt)


def played(policy: Preferring, program: Program) -> Trace:
    """Return what the policy does in an environment."""
    env = Env(policy.task, program, sites=policy.sites, limits=None)
    observed, info = env.reset()
    over = False
    while not over:
        (action,) = choose(policy.log_probs([observed], info["mask"][None]))
        observed, _, terminated, truncated, info = env.step(int(action))
        over = terminated or truncated
    return env.trace


@pytest.mark.parametrize("task", [SPLITTING, ASKING], ids=lambda task: task.name)
@pytest.mark.parametrize("sites", [1, SITES])
def test_first_start_is_what_the_policy_does_in_the_environment(task: Task, sites: int) -> None:
    policy = preferring(task, sites)
    guide_for = guide_by(policy, task)
    trace = played(policy, one_of(task))
    assert len(trace) > SITES  # sites are born on the way, and take the places of those that are gone
    assert next(iter(guide_for(task.open(one_of(task))).initial_traces)) == trace


def test_policy_of_the_whole_program_answers_what_is_asked() -> None:
    policy = preferring(ASKING, 0)
    trace = played(policy, CALLS)
    assert trace == (
        "main > f #1: inline",
        "main > f #1 > h #1: fold",
        "main > f #2: inline",
        "main > f #2 > h #1: fold",
        "main > g #1: inline",
        "main > g #1 > h #1: fold",
    )
    guide = guide_by(policy, ASKING)(ASKING.open(CALLS))
    assert next(iter(guide.initial_traces)) == trace


@pytest.mark.parametrize("method", ["beam", "mcts"])
@pytest.mark.parametrize(
    ("task", "sites"),
    [(ASKING, 0), (ASKING, SITES), (SPLITTING, SITES)],
    ids=["asked", "asking", "splitting"],
)
def test_policy_leads_to_the_optimum(task: Task, sites: int, method: str) -> None:
    """Without roll-outs: what it says of each state leads there."""

    def guide_for(session: Session) -> Guide:
        return replace(guide_by(preferring(task, sites), task)(session), initial_traces=in_order())

    best = OPTIMUM if task is SPLITTING else optimum(CALLS)
    assert guided(task, method, guide_for, 80, best).cost == best


@pytest.mark.parametrize("method", [name for name in SEARCHES if not name.endswith("bfs")])  # too slow
@pytest.mark.parametrize("task", [SPLITTING, ASKING], ids=lambda task: task.name)
def test_prior_leads_to_the_optimum(task: Task, method: str) -> None:
    """It says what, the state says where; greedy search does not look at it, but is not kept from it."""
    n = len(task.actions)
    prior = Prior(task.actions, np.tile(np.arange(1, n + 1) / (n * (n + 1) / 2), (1 + n, 1)))
    best = OPTIMUM if task is SPLITTING else optimum(CALLS)
    assert guided(task, method, lambda session: Guide(prior=prior), 600, best).cost == best


def test_open_entry_says_what_and_leaves_open_where() -> None:
    assert (open_entry(7), open_entry(7, "split")) == ("?7", "?7: split")
    assert (draw_of("?7"), draw_of("?7: tile(a: b)")) == ((7, ""), (7, "tile(a: b)"))
    assert draw_of("f?7: split") is None
    found = guided(SPLITTING, "random", lambda session: Guide(prior=_always("burn")), 60)
    assert found.cost < OPTIMUM + 36  # 6 cannot be burnt: it is then any entry that is legal


def _always(action: str) -> Prior:
    row = np.array([float(name == action) for name in ACTIONS])
    return Prior(ACTIONS, np.tile(row, (1 + len(ACTIONS), 1)))


def test_probabilities_are_those_of_the_places() -> None:
    """Of y there is no place; x is asked about, and has one of its own, too."""
    policy = Perfect(actions=("leave", "inline"), sites=2)
    space = SearchSpace(ANSWERS, (), (), (Evaluation((), 9.0),), 10, policy=policy, by_state=True)
    log_probs = np.log([0.1, 0.2, 0.3, 0.2, 0.15, 0.05])
    state = Evaluation(
        (),
        1.0,
        legal=("x: leave", "x: inline", "z: leave", "z: fold", "y: inline"),
        prediction=Prediction(log_probs, sites=("x", "z", "x")),
    )
    found = space.probabilities(state)
    np.testing.assert_allclose(found, np.array([0.25, 0.25, 0.3, 0, 0]) / 0.8)
    np.testing.assert_allclose(space.probabilities(state, 0.5), 0.5 * found + 0.1)
