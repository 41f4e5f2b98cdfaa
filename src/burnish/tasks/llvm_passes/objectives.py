"""What is minimised."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from burnish.core.errors import UnknownName
from burnish.core.objective import Formula, Limit, Objective, parse_objective
from burnish.core.trace import split_entry
from burnish.llvm.run.stopwatch import REPEATS
from burnish.tasks.llvm_passes.actions import ACTIONS
from burnish.tasks.llvm_passes.computed_gotos import losses
from burnish.tasks.llvm_passes.modules import emit_object, read_module, run_pass

if TYPE_CHECKING:
    from burnish.tasks.llvm_passes.origin import RunTimes
    from burnish.tasks.llvm_passes.session import ModuleSession

OBJECTIVES: dict[str, Objective] = {
    item.name: item
    for item in (
        Objective(
            "ir-instructions",
            "instructions",
            "IR instructions in all functions, at least 1",
            heading="IR instrs",
        ),
        Objective(
            "loaded-bytes",
            "bytes",
            "bytes that a linked, stripped program loads for the object file that the back end emits: code, "
            "read-only and writable data, unwind tables, dynamic relocations, at least 1",
            dense=False,  # code generation costs as much as many passes
            heading="loaded B",
        ),
        Objective(
            "text-bytes",
            "bytes",
            "bytes of executable sections in that object file, at least 1",
            dense=False,
            heading=".text B",
        ),
        Objective(
            "object-bytes",
            "bytes",
            "bytes of that object file, with data, symbols and relocations",
            dense=False,
            by_site=False,
            heading=".o B",
        ),
        Objective(
            "slowdown",
            "times",
            "expected run time of the machine code relative to the reference, by static branch "
            "probabilities or a profile. The largest of: the mean of order 4 over functions, each "
            "counted as at least 1; a function with loops, as if it took half of the time; the "
            "slowest function with computed gotos, where fewer places are slower, too",
            dense=False,
        ),
        Objective(
            "code-growth",
            "times",
            "bytes of machine code and read-only data, relative to the reference",
            dense=False,
        ),
        Objective(
            "linked-growth",
            "times",
            "bytes that a program loads for the object file, relative to the reference, if another "
            "object keeps the inline functions and templates that this one drops",
            dense=False,
        ),
        Objective(
            "seconds",
            "seconds",
            f"CPU time of the program's runs: the sum over its inputs, the minimum of {REPEATS} runs each",
            dense=False,
            by_site=False,
            noisy=True,
            needs_workload=True,
            heading="run s",
        ),
        Objective(
            "cycles",
            "cycles",
            "CPU cycles of its runs in user code, counted by the hardware; measured like 'seconds'",
            dense=False,
            by_site=False,
            noisy=True,
            needs_workload=True,
        ),
        Objective(
            "instructions",
            "instructions",
            "machine instructions that its runs execute in user code, counted by the hardware",
            dense=False,
            by_site=False,
            noisy=True,
            needs_workload=True,
        ),
        Objective(
            "compile-seconds",
            "seconds",
            "CPU time of the passes after the front end, and of code generation: the minimum of "
            f"{REPEATS} runs",
            dense=False,
            by_site=False,
            noisy=True,
            heading="compile s",
        ),
    )
}

CODE_PRICE = 4.0  # loaded bytes that a function must save for each byte by which its code and constants grow
ORDER = 4  # of the mean that a slowdown is
MOST_SHARE = 0.5  # of a program's time that is expected of one function

RUN_TIME = frozenset({"seconds", "cycles", "instructions"})


def level_for(objective: str) -> str:
    """Return the clang level that an objective is compared with: what its users would otherwise take."""
    return "O3" if RUN_TIME & parse_objective(objective).exponents.keys() else "Oz"


def within_limits(objective: str, slowdown: float | None, code_growth: float = 1) -> str:
    """Return an objective of size within the limits of what ships; others, and limited ones, as they are.

    Only loaded bytes are what somebody ships: the others are for comparison, and count as they always did.
    Unwind tables are loaded, too, but seldom read: they are not made smaller by a larger program beside them.
    Inline functions that an object does without count as loaded: a linker may keep another object's copies.

    Args:
        objective: As it was asked for.
        slowdown: The most, or None for any.
        code_growth: The most; above 1 where the reference is smaller than what ships otherwise.
    """
    if objective != "loaded-bytes":
        return objective
    speed = () if slowdown is None else (Limit("slowdown", slowdown),)
    limits = *speed, Limit("code-growth", code_growth), Limit("linked-growth", 1)
    return Formula({objective: 1.0}, limits).text


def cost(session: ModuleSession, objective: str) -> float:
    """Return one of OBJECTIVES of a session's module.

    Raises:
        UnknownName: there is no such objective.
        InputError: it takes a run, and the program has no workload.
        MissingTool: it takes a counter that the machine does not have.
        Miscompiled: the program runs otherwise than unoptimized.
    """
    match objective:
        case "ir-instructions":
            return float(max(1, session.opcode_counts()[0]))
        case "loaded-bytes":
            return float(max(1, session.sizes().loaded_bytes))
        case "text-bytes":
            return float(max(1, session.sizes().text_bytes))
        case "object-bytes":
            return float(session.sizes().object_bytes)
        case "slowdown":
            return slowdown(costs(session, objective), session.run_times())
        case "code-growth":
            return session.reference_sizes().code_growth(session.sizes())
        case "linked-growth":
            return session.reference_sizes().linked_growth(session.sizes())
        case "seconds" | "cycles" | "instructions":
            return session.stopwatch().measure(session.object_code(), objective)
        case "compile-seconds":
            return min(compile_seconds(session) for _ in range(REPEATS))
    raise UnknownName.among("objective", objective, OBJECTIVES)


def costs(session: ModuleSession, objective: str) -> dict[str, float]:
    """Return each function's share; {} for what has no such shares.

    That is its instructions, or the bytes of its symbol; of loaded bytes those with its unwind information
    and the constants that no other function uses; of code growth the same bytes less the unwind information;
    of linked growth its loaded bytes, in units of all that the reference loads.

    Raises:
        UnknownName: there is no such objective.
    """
    if objective not in OBJECTIVES:
        raise UnknownName.among("objective", objective, OBJECTIVES)
    pairs: Sequence[tuple[str, float]]
    match objective:
        case "ir-instructions":
            pairs = session.module.instruction_count_by_function()
        case "loaded-bytes":
            pairs = session.sizes().functions_loaded
        case "text-bytes":
            pairs = session.sizes().functions
        case "code-growth":
            pairs = session.sizes().functions_constant
        case "linked-growth":
            return session.reference_sizes().loaded_shares(session.sizes())
        case "slowdown":
            return slowdowns(session.run_times(), session.reference_run_time(), session.reference_gotos())
        case _:
            return {}
    return {name: float(share) for name, share in pairs}


def slowdowns(now: RunTimes, reference: Mapping[str, float], gotos: Mapping[str, int]) -> dict[str, float]:
    """Return by how much each function is expected to be slower than in the reference.

    Args:
        now: Of a state.
        reference: Of each of the reference's functions the expected cost of a call.
        gotos: The places of the reference's computed gotos.
    """
    lost = losses(now.gotos, gotos)
    return {
        name: max(cost / reference[name], lost.get(name, 0.0))
        for name, cost in now.of_call.items()
        if reference.get(name)
    }


def slowdown(ratios: Mapping[str, float], now: RunTimes) -> float:
    """Return by how much a module is expected to be slower than its reference, at least 1.

    It is not known which function a program spends its time in. So each counts the same that is in both, what
    one gains makes up for no other's loss, and the order of the mean lets a single slow one count: of ten,
    one that takes 1.5 times as long makes 1.09, one that takes twice as long 1.26. Where there are many
    functions, that is next to nothing. So one that repeats something may be half of the time, whatever else
    there is; of an interpreter with computed gotos it is known that programs spend their time there.

    Args:
        ratios: See slowdowns.
        now: Of the same state.
    """
    if not ratios:
        return 1.0
    mean = (sum(max(1.0, ratio) ** ORDER for ratio in ratios.values()) / len(ratios)) ** (1 / ORDER)
    half = (1 + MOST_SHARE * (ratio - 1) for name, ratio in ratios.items() if name in now.repeating)
    return float(max(mean, *half, *(ratios.get(name, 1.0) for name in now.gotos), 1.0))


def compile_seconds(session: ModuleSession) -> float:
    """Compile a session's program once more, and return the CPU seconds that it took this thread.

    That is all from the front end's module to the object: what opening the session does to the module
    (attributes, always_inline; for a baseline its pipeline), every pass of the trace as `apply` runs it, with
    no analysis kept between two, and code generation with the copy of the module that it works on.
    """
    module = read_module(session.origin.program)
    start = time.thread_time()
    session.origin.prepare(module)
    for entry in session.trace:
        site, action = split_entry(entry)
        run_pass(module, ACTIONS.index(action), site, session.options.level)
    emit_object(module, session.options.level, session.options.cpu)
    return time.thread_time() - start
