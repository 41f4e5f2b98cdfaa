"""Nothing is reported that was not measured afresh."""

from __future__ import annotations

import contextlib
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import burnish
from burnish.core.errors import CompilerCrash, InputError, Miscompiled, ReplayError
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.sandbox import Sandbox
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.trade_off import is_trade_off
from burnish.core.worker import Limits, Worker
from burnish.evaluation.gain import Gain, measure_gain
from burnish.evaluation.outputs import Outputs, variant_of
from burnish.evaluation.timing import FASTER, Comparer, Comparison, Effort

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
    objective: str | None = None,
    variants: Mapping[str, Program] | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Costs:
    """Measure every exact objective under some baselines.

    Args:
        task: Whose baselines.
        program: The program.
        names: Which baselines.
        objective: What to measure as well.
        variants: The program as the front end makes it for a baseline, where that differs.
        limits: Of the worker process.

    Raises:
        InputError: a baseline does something else than the unoptimized program.
    """
    objectives = dict.fromkeys([*task.exact_objectives, task.objective(objective).name])
    worker = Worker(limits)
    costs: Costs = {}
    try:
        for name in names:
            variant = variant_of(program, variants, name)
            session = Sandbox(task.baseline(name), variant, worker=worker)
            costs[name] = {item: session.measure(item) for item in objectives}
    except Miscompiled as error:
        raise InputError(
            f"{program.name}: clang's own -{name} does something else than {next(iter(task.baselines))}: "
            f"{error}; is its behaviour undefined?"
        ) from None
    finally:
        worker.close()
    return costs


def reference_of(task: Task, goal: Objective, baselines: Costs) -> str:
    """Return the baseline to compare with: the task's reference.

    For a trade-off it is the one that does best in it, as none of them is made for it.
    """
    if not is_trade_off(goal.name):
        return task.reference
    return min(baselines, key=lambda name: baselines[name][goal.name])


def confirm(
    task: Task,
    program: Program,
    found: Result,
    baselines: Costs,
    *,
    variants: Mapping[str, Program] | None = None,
    effort: Effort = Effort(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Result:
    """Replay what a search found, measure it anew, and keep the reference where it is not better.

    A program with a workload is run on all its inputs, and must do what it does unoptimized. A noisy
    objective is better where the interval of a comparison says so. The result's `beside` has the other
    objectives. `valid` is False when the trace does not survive all that: then, too, the reference is kept.

    Args:
        task: What the search optimized by.
        program: What it optimized.
        found: What it found.
        baselines: From measure_baselines; the task's reference among them.
        variants: The program as the front end makes it for a baseline, where that differs.
        effort: How thoroughly to compare a noisy objective.
        limits: Of the worker processes.
    """
    goal = task.objective(found.objective)
    against = reference_of(task, goal, baselines)
    reference = baselines[against]
    if math.isinf(found.cost):  # the budget was too short for a single measurement
        found = replace(found, trace=())
    gain: Gain | None = None
    fallback, valid = against, False
    try:
        with contextlib.ExitStack() as stack:
            session, checks = replay(task, program, found.trace, limits=limits)
            stack.callback(session.shutdown)
            costs = {name: session.measure(name) for name in task.exact_objectives}
            state, trace = session.digest(), tuple(session.trace)
            outputs = Outputs(task, program, variants=variants, limits=limits)
            checks += (outputs.check(session.object_code() if program.workload else b""),)
            if goal.noisy:
                other = Sandbox(task.baseline(against), variant_of(program, variants, against), limits=limits)
                stack.callback(other.shutdown)
                gain = measure_gain(task, program, goal, other, session, comparer=Comparer(effort))
                reference = reference | {goal.name: gain.baseline}
                costs[goal.name] = gain.candidate
                better = gain.comparison.verdict == FASTER
            else:
                costs[goal.name] = session.measure(goal.name)
                better = costs[goal.name] < reference[goal.name]
        fallback, valid = "" if better else against, True
    except (CompilerCrash, ReplayError) as error:
        checks = (f"failed: {error}",)
    if fallback:
        costs, state, trace = reference, "", ()
    baselines = baselines | {against: reference}
    return replace(
        found,
        trace=trace,
        fallback=fallback,
        cost=costs[found.objective],
        baselines={name: costs[found.objective] for name, costs in baselines.items()},
        beside={
            objective: {"result": costs[objective]}
            | {name: row[objective] for name, row in baselines.items()}
            for objective in task.exact_objectives
            if objective != found.objective
        },
        timing={"against": against} | _shown(gain.comparison) if gain else {},
        state=state,
        valid=valid,
        verified=checks,
        toolchain=toolchain(),
    )


def _shown(comparison: Comparison) -> dict[str, float | str]:
    """Return what a result keeps of a comparison."""
    return {name: value for name, value in asdict(comparison).items() if name not in ("least", "median")}


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
