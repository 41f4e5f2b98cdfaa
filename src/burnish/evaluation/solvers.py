"""Methods by name: functions from a program and a budget to a result with a trace."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from burnish.core.errors import InputError, UnknownName
from burnish.core.guide import GuideFor
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.policies import find as policies
from burnish.search import SEARCHES, Budget, Progress
from burnish.search.problem import Problem
from burnish.search.stages import search_stages

Solver = Callable[[Problem, Budget, int, Callable[[Progress], None]], Result]
"""Searches within a budget, with a seed; calls its last argument with progress, which makes the curve."""


def solver_of(spec: str, task: Task) -> Solver:
    """Return the method of a name: a search, `search@policy`, or a baseline of the task.

    The method is called for each program, within the program's budget; loading a policy counts.

    Raises:
        UnknownName: there is no such method.
    """
    name, at, policy = spec.partition(policies.AT)
    if name in SEARCHES:
        if at:
            policies.check(policy)
        return partial(_search, name, policy if at else policies.NONE)
    if name in task.baselines and not at:
        return partial(_baseline, name)
    raise UnknownName.among("method", spec, [*SEARCHES, *task.baselines])


def with_series(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the methods; one with a folder of policies, `search@FOLDER`, is one for each, in their order.

    Raises:
        InputError: a folder has no policy.
    """
    methods: list[str] = []
    for spec in specs:
        name, _, policy = spec.partition(policies.AT)
        if not policy or policy in (policies.DEFAULT, policies.NONE) or not Path(policy).is_dir():
            methods.append(spec)
            continue
        files = sorted(path for path in Path(policy).iterdir() if path.suffix in (".npz", ".onnx"))
        if not files:
            raise InputError(
                f"{spec}: {policy} has no policy; expected .npz or .onnx files, as run.keep_every writes"
            )
        methods += [f"{name}{policies.AT}{path}" for path in files]
    return tuple(methods)


def check_methods(specs: Iterable[str], task: Task, objective: str) -> dict[str, str]:
    """Check all methods before any method runs; return the digests of their policies, by method.

    Raises:
        UnknownName: there is no such method or policy.
        InputError: there are no methods, or one is repeated; a policy is of another task, or the task has no
            shipped policy.
    """
    names = list(specs)
    if not names or len(set(names)) < len(names):
        raise InputError(f"methods {', '.join(names) or '(none)'}: expected at least one, each only once")
    digests = {}
    for name in names:
        solver_of(name, task)
        policy = name.partition(policies.AT)[2]
        if policy not in ("", policies.NONE):
            digests[name] = _policy_digest(policy, task, objective)
    return digests


def _policy_digest(policy: str, task: Task, objective: str) -> str:
    """Return 32 hexadecimal digits of BLAKE2b over the policy's file, or over the files of all stages."""
    parts = (policies.find_guide(policy, stage, objective) for stage in task.stages or (task,))
    guides = [found[1] for found in parts if found]
    if not guides:
        raise InputError(f"no policy is shipped for {objective} of {task.id}; leave @{policy} out")
    known = policies.shipped()
    paths = [known[guide] if policy in (policies.DEFAULT, *known) else Path(policy) for guide in guides]
    return hashlib.blake2b(b"".join(path.read_bytes() for path in paths), digest_size=16).hexdigest()


def _search(
    method: str,
    policy: str,
    problem: Problem,
    budget: Budget,
    seed: int,
    progress: Callable[[Progress], None],
) -> Result:
    guides: list[str] = []

    def guide_of(part: Problem) -> GuideFor | None:
        guide_for, guide = policies.find_guide(policy, part.task, problem.goal.name) or (None, "")
        guides.append(guide)
        return guide_for

    found = search_stages(
        problem, replace(budget, workers=1), guide_of, method=method, seed=seed, progress=progress
    )
    return replace(found, method=policies.named(method, next(filter(None, guides), "")))


def _baseline(
    name: str, problem: Problem, _budget: Budget, seed: int, _progress: Callable[[Progress], None]
) -> Result:
    """Return a baseline's own state as a result, whatever the budget."""
    start = time.monotonic()
    session = problem.from_baseline(name).open()
    try:
        cost = session.measure(problem.goal.name)
    finally:
        session.shutdown()
    seconds = time.monotonic() - start
    return Result(
        task=problem.task.id,
        program=problem.program.name,
        digest=problem.program.digest,
        objective=problem.goal.name,
        method=name,
        seed=seed,
        trace=(),
        cost=cost,
        baselines={},
        evaluations=1,
        seconds=round(seconds, 3),
        toolchain={},
        options=problem.task.options,
        fallback=name,
    )
