"""Problems with known optima, and what learns and is tested on them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from functools import partial
from typing import Any

from burnish.core.session import Session
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.learner import Learner
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.policies.choose import Actor
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.core.counting_task import COLUMNS, TASK, counters
from tests.sources import program

COUNTING: dict[str, Any] = {"task": TASK, "programs": counters("a=64"), "max_steps": 7}
"""Six times halve, and subtract(1): the only way to the OPTIMUM. At random, the cost is above 20."""

PASSES = ("mem2reg", "tailcallelim", "inline", "simplifycfg", "ipsccp", "instcombine<no-verify-fixpoint>")
STEPS = 3
FEATURES = 56  # of Autophase


def counting_envs(count: int = 4, **options: Any) -> VectorEnv:
    """Return environments in this process, each with the counter 64 and seven steps."""
    return VectorEnv(partial(Env, **(COUNTING | {"limits": None} | options)), count)


def llvm_envs(count: int = 4, **options: Any) -> VectorEnv:
    """Return environments in this process, each with a small module, six passes and three steps."""
    chosen: dict[str, Any] = {
        "actions": PASSES,
        "max_steps": STEPS,
        "observation": "autophase",
        "limits": None,
    }
    return VectorEnv(partial(Env, LLVM, program("machine.c"), **(chosen | options)), count)


@functools.cache
def llvm_optimum() -> float:
    """Return the least cost of all sequences of STEPS passes: one of 216 has it, and no greedy choice."""
    choices = [LLVM.actions.index(name) for name in PASSES]

    def least(session: Session, steps: int) -> float:
        if not steps:
            return session.measure("ir-instructions")
        return min(least(after(session, choice), steps - 1) for choice in choices)

    return least(LLVM.open(program("machine.c")), STEPS)


def after(session: Session, action: int) -> Session:
    """Return a fork to which an action was applied."""
    fork = session.fork()
    fork.apply(action)
    return fork


def small_policy(features: int, actions: int, hidden: tuple[int, ...] = (64, 64), **options: Any) -> Policy:
    """Return a policy on a vector of features."""
    return Policy(MLP(MLPConfig(hidden), features), [f"action {i}" for i in range(actions)], **options)


def counting_policy(**options: Any) -> Policy:
    """Return a policy on the counters."""
    return small_policy(COLUMNS, len(TASK.actions), **options)


def llvm_policy(**options: Any) -> Policy:
    """Return a policy on Autophase's features."""
    return small_policy(FEATURES, len(PASSES), **options)


def play_greedily(actor: Actor, envs: VectorEnv) -> float:
    """Play an episode of the first environment without exploring; return the last cost."""
    env = envs.envs[0]
    observed, info = env.reset(seed=0)
    over = False
    while not over:
        choice = int(actor.act([observed], [info["mask"]])[0])
        assert info["mask"][choice]
        observed, _, terminated, truncated, info = env.step(choice)
        over = terminated or truncated
    return env.cost


def learned_cost(agent: Learner, iterations: int) -> float:
    """Let a learner of these environments work; return the median of what it reaches in the last nine."""
    costs = []
    for _ in range(iterations):
        agent.iterate()
        costs.append(play_greedily(agent.policy, agent.envs))
    return sorted(costs[-9:])[4]


def assert_goes_on_alike(make: Callable[[], Learner], before: int, after: int) -> None:
    """Assert that a learner goes on from a state exactly as the one whose state it was."""
    first, second = make(), make()
    for _ in range(before):
        first.iterate()
    state = copy.deepcopy(first.state_dict())
    expected = [first.iterate() for _ in range(after)]
    second.load_state_dict(state)
    assert [second.iterate() for _ in range(after)] == expected
