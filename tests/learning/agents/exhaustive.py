"""A few passes on files of tests/data, and by trying everything what the best sequences of them are."""

from __future__ import annotations

import functools
import itertools

from burnish.core.trace import Trace
from burnish.envs.env import Env
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.sources import program

PASSES = ("sroa<modify-cfg>", "instcombine<no-verify-fixpoint>", "simplifycfg", "inline")
STEPS = 4
OBSERVATION = "opcode-counts"
FEATURES = len(LLVM.observation(OBSERVATION).columns)


def pass_env(*names: str, max_steps: int = STEPS) -> Env:
    """Return an environment in this process, with some of the PASSES on files of tests/data."""
    programs = [program(name) for name in names]
    return Env(LLVM, programs, actions=PASSES, observation=OBSERVATION, max_steps=max_steps, limits=None)


@functools.cache
def cheapest(name: str) -> tuple[float, tuple[Trace, ...]]:
    """Return the least cost that STEPS passes lead to on a file, and all sequences that do.

    That is one sequence for strings.c, three for hash_table.c and two for recursion.c, and begins with inline
    for some of them only.
    """
    env = pass_env(name)
    found: dict[tuple[int, ...], float] = {}
    for actions in itertools.product(range(len(PASSES)), repeat=STEPS):
        env.reset()
        env.multistep(actions)
        found[actions] = env.cost
    least = min(found.values())
    best = [actions for actions, cost in found.items() if cost == least]
    return least, tuple(tuple(PASSES[i] for i in actions) for actions in best)


@functools.cache
def cheapest_of_all(name: str) -> tuple[float, int]:
    """Return the least cost that any number of passes lead to on a file, and how many states there are.

    Of structs.c that is 116 of 117 states, five passes away; taking the best pass each time ends at 118, as
    the fourth of the five makes the module larger.
    """
    passes = [LLVM.actions.index(name) for name in PASSES]
    sessions = [LLVM.open(program(name))]
    known = {sessions[0].digest()}
    for session in sessions:  # which grows
        for action in passes:
            after = session.fork()
            after.apply(action)
            if after.digest() not in known:
                known.add(after.digest())
                sessions.append(after)
    return min(session.measure("ir-instructions") for session in sessions), len(sessions)
