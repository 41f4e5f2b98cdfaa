"""Schedulers, named on the command line: each finds a loop tree for a nest within some seconds."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.trace import Trace, split_entry
from burnish.evaluation.solvers import solver_of
from burnish.policies import find as policies
from burnish.policies.guiding import load_guide, rollout
from burnish.search import Budget, Progress
from burnish.search.problem import Problem
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.api.compilation import compile_nest
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.session import open_nest
from burnish.tasks.loop_nests.tree import Tree, naive

NAIVE, LOOPS = "naive", "loops"
LEAST_SECONDS = 1e-3  # of a search without time to measure, which returns its policy's first choice

Scheduler = Callable[[Nest, float], tuple[Tree, float]]
"""A function that returns a nest's loops and the seconds of finding them; given 0 s, it measures nothing."""


def scheduler_of(spec: str) -> Scheduler:
    """Return a scheduler by its name.

    Names are `naive`; `loops`, which is burnish.loops.compile with the shipped policy; `loops@policy` with
    another policy; `module:function`; and the methods of `burnish evaluate`.

    Raises:
        UnknownName: there is no such method.
        InputError: there is no such function.
    """
    if spec == NAIVE:
        return lambda nest, _: (naive(nest), 0.0)
    name, _, policy = spec.partition(policies.AT)
    if name == LOOPS:
        return partial(_compiled, policy or policies.DEFAULT)
    module, colon, function = spec.partition(":")
    if not colon:
        solver_of(spec, TASK)  # raises UnknownName now, not in the first search
        return lambda nest, seconds: searched(spec, nest, seconds)[:2]
    try:
        found: Scheduler = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"--schedule {spec}: {error}; expected naive, loops, a method, or module:function"
        ) from None
    return found


def _compiled(policy: str, nest: Nest, seconds: float) -> tuple[Tree, float]:
    start = time.monotonic()
    kernel = compile_nest(nest, refine_seconds=seconds, policy=policy, cache=False)
    return kernel.tree, time.monotonic() - start


def tree_after(nest: Nest, trace: Trace) -> Tree:
    """Return a nest's loops after a trace."""
    session = open_nest(nest.program())
    for entry in trace:
        site, text = split_entry(entry)
        session.apply(session.index(text), site)
    return session.tree


def played(policy: Path, nest: Nest) -> tuple[Tree, float]:
    """Return the loops that an action policy chooses for a nest, and the seconds of the roll-out.

    Raises:
        InputError: there is no such file, or it is not such a policy.
    """
    start = time.monotonic()
    if not policy.is_file():
        raise InputError(f"{policy}: there is no such file; burnish train writes runs/NAME/policy.npz")
    session = open_nest(nest.program())
    trace = rollout(session, load_guide(policy, TASK).steps(session.actions))
    spent = time.monotonic() - start
    return tree_after(nest, trace), spent


def searched(method: str, nest: Nest, seconds: float) -> tuple[Tree, float, list[tuple[float, float]]]:
    """Return the loops that a method finds, its seconds, and (seconds, cost) of each improvement.

    Raises:
        UnknownName: there is no such method.
    """
    curve: list[tuple[float, float]] = []

    def note(progress: Progress) -> None:
        cost = progress.best.cost
        if math.isfinite(cost) and (not curve or cost < curve[-1][1]):
            curve.append((progress.seconds, cost))

    solver = solver_of(method, TASK)
    start = time.monotonic()
    problem = Problem(TASK, nest.program(), "seconds")
    found = solver(problem, Budget(max(seconds, LEAST_SECONDS)), 0, note)
    spent = time.monotonic() - start
    return tree_after(nest, found.trace), spent, curve
