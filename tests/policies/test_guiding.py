"""Policies of actions guide searches: their own roll-outs first, then what they make of every state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError, UnknownName
from burnish.core.guide import State
from burnish.core.task import SearchHints
from burnish.core.trace import Trace
from burnish.envs.env import Env
from burnish.learning.agents.export import export_policy
from burnish.learning.agents.policy import FlatHead, Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.policies.choose import Floats, Mask, choose, masked_log_softmax
from burnish.policies.find import find_guide
from burnish.policies.guiding import PolicyGuide, guide_by, load_guide
from burnish.search import Budget, Progress, search
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import Limits
from tests.core.counting_task import ACTIONS, TASK, counters, open_counters
from tests.core.failures import failing_task
from tests.sources import program

pytestmark = pytest.mark.usefixtures("nothing_left")

PROGRAM = counters("a=24 b=7")


@dataclass(frozen=True)
class ByHand:
    """Its logits are the same everywhere, its value is the sum of what it observes."""

    actions: tuple[str, ...] = ("subtract(3)", "add(1)", "halve")
    logits: tuple[float, ...] = (1.0, 0.0, 2.0)
    card: dict[str, Any] = field(
        default_factory=lambda: {"task": TASK.id, "observation": "values", "max_steps": 6}
    )
    critic: bool = True

    def log_probs(self, observations: Sequence[Any], masks: Mask) -> Floats:
        return masked_log_softmax(np.tile(np.array(self.logits, dtype=np.float32), (len(masks), 1)), masks)

    def evaluate(self, observations: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        if not self.critic:
            raise InputError("this policy has no critic")
        values = [np.sum([np.sum(part) for part in _parts(row)]) for row in observations]
        return self.log_probs(observations, masks), np.array(values, dtype=np.float32)


def _parts(observed: Any) -> list[Any]:
    return list(observed.values()) if isinstance(observed, dict) else [observed]


def carded(**card: Any) -> ByHand:
    return ByHand(card=ByHand().card | card)


def initial_traces(guide_for: PolicyGuide, text: str = "a=24 b=7") -> list[Trace]:
    return list(guide_for(open_counters(counters(text))).initial_traces)


def test_first_start_is_what_the_policy_does_in_the_environment() -> None:
    env = Env(TASK, PROGRAM, actions=ByHand().actions, observation="values", max_steps=6, limits=None)
    observed, info = env.reset()
    over = False
    while not over:
        (action,) = choose(ByHand().log_probs([observed], info["mask"][None]))
        observed, _, terminated, truncated, info = env.step(int(action))
        over = terminated or truncated
    assert initial_traces(guide_by(ByHand(), TASK))[0] == env.trace


def test_other_starts_are_drawn_by_the_seed() -> None:
    guide_for = guide_by(ByHand(), TASK)
    drawn = initial_traces(guide_for)
    assert len(drawn) == guide_for.rollouts
    assert len(set(drawn)) > 2
    assert initial_traces(guide_for) == drawn
    other = initial_traces(replace(guide_for, seed=1))
    assert other[0] == drawn[0]
    assert other[1:] != drawn[1:]


def test_rollouts_end_where_nothing_is_legal_and_where_the_compiler_dies() -> None:
    less = ByHand(actions=("subtract(1)", "gone"), logits=(0, 1))
    assert initial_traces(guide_by(less, TASK), "a=2")[0] == ("subtract(1)", "subtract(1)")
    assert initial_traces(guide_by(ByHand(), TASK), "a=0")[0] == ()
    task = failing_task(TASK, "give-up")
    policy = ByHand(actions=("halve", "give-up"), logits=(3.0, 1.0))
    guide = guide_by(policy, task)(task.open(counters("a=4")))
    assert next(iter(guide.initial_traces)) == ("halve", "halve")


def test_a_budget_cuts_rollouts_off() -> None:
    task = replace(failing_task(TASK, "hang"), hints=SearchHints(((),)))
    guide_for = guide_by(ByHand(actions=("halve", "hang"), logits=(1.0, 0.0)), task)
    problem = Problem(task, counters("a=8"))
    found = search(problem, Budget(seconds=2, workers=1), method="random", guide_for=guide_for)
    assert found.trace[:3] == ("halve", "halve", "halve")
    assert found.seconds < Limits().deadline_seconds / 2  # of which every hang would have taken all


def test_what_changed_nothing_is_not_repeated() -> None:
    source = program("structs.c")
    policy = ByHand(
        actions=("globaldce", "sroa<modify-cfg>", "instcombine<no-verify-fixpoint>"), logits=(3, 2, 1)
    )
    guide_for = PolicyGuide(policy, "opcode-counts", 8)
    session = LLVM.open(source)
    trace = next(iter(guide_for(session).initial_traces))
    assert session.trace == []
    changed = [session.apply(session.index(action)) for action in trace]
    for i in range(1, len(trace)):
        assert changed[i - 1] or trace[i] != trace[i - 1]


@pytest.mark.parametrize("observation", ["values", ("values", "shares")])
def test_predictions_are_the_policys_own(observation: str | tuple[str, ...]) -> None:
    policy = guide_by(carded(observation=observation), TASK)(open_counters(PROGRAM)).policy
    assert policy is not None
    session = open_counters(PROGRAM)
    states = []
    for _ in range(40):
        states.append(State(tuple(session.observe(name) for name in policy.observations), session.legal()))
        session.apply(session.index("add(1)"))
    found = policy.predict(states)
    assert policy.actions == ("subtract(3)", "add(1)", "halve")
    for state, prediction in zip(states, found, strict=True):
        halved = state.legal[ACTIONS.index("halve")]
        weights = np.array([np.e, 1, np.e**2 if halved else 0])
        np.testing.assert_allclose(np.exp(prediction.log_probs), weights / weights.sum(), rtol=1e-6)
        assert prediction.value == pytest.approx(sum(float(np.sum(part)) for part in state.observed))


def test_values_count_only_as_log_ratios_of_costs() -> None:
    session = open_counters(PROGRAM)
    state = State((session.observe("values"),), session.legal())
    for policy, value in [
        (ByHand(), 31),
        (ByHand(critic=False), 0),
        (carded(reward="over-halved"), 0),
        (carded(reward="log"), 31),
    ]:
        steps = guide_by(policy, TASK)(session).policy
        assert steps is not None
        assert steps.predict([state])[0].value == value


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(InputError, match="the policy was trained for llvm_passes-v1, not for counting-v4"):
        guide_by(carded(task="llvm_passes-v1"), TASK)
    with pytest.raises(InputError, match="does not name the policy's observation"):
        guide_by(ByHand(card={}), TASK)
    with pytest.raises(UnknownName, match="did you mean 'values'"):
        guide_by(carded(observation="value"), TASK)
    with pytest.raises(InputError, match="has none of the 4 actions"):
        guide_by(ByHand(actions=("x",), logits=(0,)), TASK)(open_counters(PROGRAM))


def trained(folder: Path) -> Path:
    """Return a file of a policy that prefers few passes, by opcode counts."""
    torch.manual_seed(0)
    columns = LLVM.observation("opcode-counts").shape[0]
    policy = Policy(MLP(MLPConfig(hidden=(16,)), columns), LLVM.actions)
    assert isinstance(policy.head, FlatHead)
    with torch.no_grad():
        for name in ("sroa<modify-cfg>", "instcombine<no-verify-fixpoint>", "simplifycfg", "globaldce"):
            policy.head.logits.bias[LLVM.actions.index(name)] += 6.0
    return export_policy(
        policy, folder, {"task": LLVM.id, "observation": "opcode-counts", "max_steps": 12, "reward": "log"}
    )


@pytest.mark.parametrize("method", ["beam", "mcts", "genetic"])
def test_an_exported_policy_steers_a_search_of_passes(method: str, tmp_path: Path) -> None:
    guide_for = load_guide(trained(tmp_path), LLVM)
    source = program("structs.c")
    seen: list[Progress] = []
    results = [
        search(
            Problem(replace(LLVM, hints=SearchHints(())), source),  # the reference would be tried first
            Budget(evaluations=20, workers=workers),
            method=method,
            guide_for=guide_for,
            progress=seen.append,
        )
        for workers in (1, 2)
    ]
    assert results[0].trace == results[1].trace
    first = next(iter(guide_for(LLVM.open(source)).initial_traces))
    assert len(first) == 12
    session = LLVM.open(source)
    costs = [session.measure("ir-instructions")]
    for action in first:
        session.apply(session.index(action))
        costs.append(session.measure("ir-instructions"))
    assert seen[0].best.cost == min(costs)
    assert results[0].cost <= min(costs)


def test_a_policys_file_is_found(tmp_path: Path) -> None:
    path = trained(tmp_path)
    found = find_guide(str(path), LLVM, "ir-instructions")
    assert found and found[1] == "policy"
    assert isinstance(found[0], PolicyGuide)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=r"policy\.npz: not a policy"):
        find_guide(str(path), LLVM, "ir-instructions")


def test_a_file_that_does_not_fit_is_named(tmp_path: Path) -> None:
    path = trained(tmp_path)
    with pytest.raises(InputError, match=r"policy\.npz: the policy was trained for llvm_passes-v1, not for"):
        load_guide(path, TASK)
