"""Nothing is reported that was not measured afresh."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace

import burnish
from burnish.core.errors import CompilerCrash, ReplayError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.sandbox import Sandbox
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.worker import Limits, Worker

Costs = dict[str, dict[str, float]]  # {baseline: {objective: cost}}


def replay(
    task: Task,
    program: Program,
    trace: Trace,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> tuple[Sandbox, tuple[str, ...]]:
    """Replay a trace in two new processes and check the state: (session, the checks in words).

    Entries that changed nothing are left out of the second replay; where that leads to the same state, the
    session is that one, and its trace the shorter.

    Raises:
        ReplayError: the two processes do not reach the same state.
        CompilerCrash: the compiler does not survive the trace, or its checker rejects the state.
    """
    first = Sandbox(task.open, program, limits=limits)
    shorter, state = first.replay(trace), first.digest()
    first.shutdown()
    for candidate in dict.fromkeys((shorter, trace)):
        session = Sandbox(task.open, program, limits=limits)
        session.replay(candidate)
        if session.digest() == state:
            break
        session.shutdown()
    else:
        raise ReplayError(f"{program.name}: two replays of the same trace differ: {trace}")
    checks = ["replayed in two new processes: the same state"]
    if checker := session.verify():
        checks.append(f"{checker} accepts it")
    return session, tuple(checks)


def replay_result(
    task: Task,
    program: Program,
    result: Result,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Sandbox:
    """Replay what a result stands for, as `replay` does: its trace, or the baseline that was kept.

    Raises:
        ReplayError: two processes do not reach the same state.
        CompilerCrash: the compiler does not survive it, or its checker rejects the state.
    """
    if result.fallback:
        task = replace(task, open=task.baseline(result.fallback))
    return replay(task, program, result.trace, limits=limits)[0]


def measure_baselines(
    task: Task,
    program: Program,
    names: Sequence[str],
    *,
    variants: Mapping[str, Program] | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Costs:
    """Measure every objective under some baselines.

    Args:
        task: Whose baselines.
        program: The program.
        names: Which baselines.
        variants: The program as the front end makes it for a baseline, where that differs.
        limits: Of the worker process.
    """
    worker = Worker(limits)
    costs: Costs = {}
    try:
        for name in names:
            variant = (variants or {}).get(name, program)
            session = Sandbox(task.baseline(name), variant, worker=worker)
            costs[name] = {objective: session.measure(objective) for objective in task.exact_objectives}
    finally:
        worker.close()
    return costs


def confirm(
    task: Task,
    program: Program,
    found: Result,
    baselines: Costs,
    *,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Result:
    """Replay what a search found, measure it anew, and keep the reference where it is not better.

    The result's `beside` has the other objectives. `valid` is False when the trace does not
    survive: then, too, the reference is kept.

    Args:
        task: What the search optimized by.
        program: What it optimized.
        found: What it found.
        baselines: From measure_baselines; the task's reference among them.
        limits: Of the worker processes.
    """
    reference = baselines[task.reference]
    if math.isinf(found.cost):  # the budget was too short for a single measurement
        found = replace(found, trace=())
    try:
        session, checks = replay(task, program, found.trace, limits=limits)
        costs = {objective: session.measure(objective) for objective in task.exact_objectives}
        state, trace = session.digest(), tuple(session.trace)
        session.shutdown()
        valid = True
    except (CompilerCrash, ReplayError) as error:
        costs, state, trace, checks, valid = reference, "", (), (f"failed: {error}",), False
    fallback = ""
    if not valid or costs[found.objective] >= reference[found.objective]:
        costs, state, fallback = reference, "", task.reference
    return replace(
        found,
        trace=() if fallback else trace,
        fallback=fallback,
        cost=costs[found.objective],
        baselines={name: costs[found.objective] for name, costs in baselines.items()},
        beside={
            objective: {"result": costs[objective]}
            | {name: row[objective] for name, row in baselines.items()}
            for objective in task.exact_objectives
            if objective != found.objective
        },
        state=state,
        valid=valid,
        verified=(*checks, "outputs were not compared: the program was not run"),
        toolchain=toolchain(),
    )


def toolchain() -> dict[str, str]:
    """Return the versions that a result depends on."""
    from burnish._native import llvm_version
    from burnish.toolchain import clang_version

    return {
        "burnish": burnish.__version__,
        "llvm": llvm_version(),
        "clang": clang_version(),
        "python": platform.python_version(),
    }
