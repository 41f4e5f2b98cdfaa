"""What is minimised."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from burnish.core.errors import UnknownName
from burnish.core.objective import Objective
from burnish.core.trace import split_entry
from burnish.core.trade_off import factors
from burnish.execution.stopwatch import REPEATS
from burnish.tasks.llvm_passes.actions import ACTIONS
from burnish.tasks.llvm_passes.modules import emit_object, read_module, run_pass

if TYPE_CHECKING:
    from burnish.tasks.llvm_passes.session import ModuleSession

OBJECTIVES: dict[str, Objective] = {
    item.name: item
    for item in (
        Objective("ir-instructions", "instructions", "IR instructions in all functions, at least 1"),
        Objective(
            "text-bytes",
            "bytes",
            "bytes of executable sections in the object file that the back end emits, at least 1",
            dense=False,  # code generation costs as much as many passes
        ),
        Objective(
            "object-bytes",
            "bytes",
            "bytes of that object file, with data, symbols and relocations",
            dense=False,
            by_site=False,
        ),
        Objective(
            "seconds",
            "seconds",
            f"CPU time of the program's runs: the sum over its inputs, of each the least of {REPEATS}",
            dense=False,
            by_site=False,
            noisy=True,
            needs_workload=True,
        ),
        Objective(
            "cycles",
            "cycles",
            "CPU cycles of its runs in user code, counted by the hardware; as 'seconds' otherwise",
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
            "CPU time of the passes from the front end's module on, and of code generation: "
            f"the least of {REPEATS}",
            dense=False,
            by_site=False,
            noisy=True,
        ),
    )
}

RUN_TIME = frozenset({"seconds", "cycles", "instructions"})


def level_for(objective: str) -> str:
    """Return the clang level that an objective is compared with: what its users would otherwise take."""
    return "O3" if RUN_TIME & factors(objective).keys() else "Oz"


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
        case "text-bytes":
            return float(max(1, session.sizes().text_bytes))
        case "object-bytes":
            return float(session.sizes().object_bytes)
        case "seconds" | "cycles" | "instructions":
            return session.stopwatch().measure(session.object_code(), objective)
        case "compile-seconds":
            return min(compile_seconds(session) for _ in range(REPEATS))
    raise UnknownName.among("objective", objective, OBJECTIVES)


def costs(session: ModuleSession, objective: str) -> dict[str, float]:
    """Return each function's share: instructions, or bytes of its symbol; {} for what has no such shares.

    Raises:
        UnknownName: there is no such objective.
    """
    if objective not in OBJECTIVES:
        raise UnknownName.among("objective", objective, OBJECTIVES)
    match objective:
        case "ir-instructions":
            pairs = session.module.instruction_count_by_function()
        case "text-bytes":
            pairs = session.sizes().functions
        case _:
            return {}
    return {name: float(share) for name, share in pairs}


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
