"""A few passes on files of tests/data, and by trying everything what the best sequences of them are."""

from __future__ import annotations

import functools
import itertools

from burnish.core.env import Env
from burnish.core.trace import Trace
from burnish.tasks.llvm_passes import TASK as LLVM
from tests.sources import program

PASSES = ("sroa<modify-cfg>", "instcombine<no-verify-fixpoint>", "simplifycfg", "inline")
STEPS = 4
OBSERVATION = "opcode-counts"
FEATURES = len(LLVM.observation(OBSERVATION).columns)


def pass_env(*names: str) -> Env:
    """Return an environment in this process, with STEPS of the PASSES on files of tests/data."""
    programs = [program(name) for name in names]
    return Env(LLVM, programs, actions=PASSES, observation=OBSERVATION, max_steps=STEPS, limits=None)


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
