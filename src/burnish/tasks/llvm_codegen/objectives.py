"""What is minimised: what is measured of any object, and what its register allocation is expected to cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnish.core.errors import UnknownName
from burnish.core.objective import Objective
from burnish.tasks.llvm_passes.objectives import OBJECTIVES as OF_MODULES
from burnish.tasks.llvm_passes.objectives import slowdown, slowdowns

if TYPE_CHECKING:
    from burnish.tasks.llvm_codegen.session import CodegenSession
    from burnish.tasks.llvm_passes.origin import RunTimes

SPILL_COST, EXECUTED_SPILL_COST = "spill-cost", "executed-spill-cost"

OBJECTIVES: dict[str, Objective] = {
    name: OF_MODULES[name]
    for name in ("loaded-bytes", "text-bytes", "object-bytes", "code-growth", "linked-growth", "slowdown")
} | {
    SPILL_COST: Objective(
        SPILL_COST,
        "points",
        "LLVM's score of the register allocation (MLGO's reward): copies, loads, stores and "
        "rematerializations in a call of each function, weighted by static block frequencies; at "
        "least 1",
        dense=False,
        heading="spills",
    ),
    EXECUTED_SPILL_COST: Objective(
        EXECUTED_SPILL_COST,
        "points",
        "the same score over the program's runs, weighted by how often each block was executed; at least 1",
        dense=False,
        needs_workload=True,
        heading="executed spills",
    ),
    **{name: OF_MODULES[name] for name in ("seconds", "cycles", "instructions")},
}


def cost(session: CodegenSession, objective: str) -> float:
    """Return one of OBJECTIVES of a session's object.

    Raises:
        UnknownName: there is no such objective.
        InputError, MissingTool, Miscompiled: see burnish.tasks.llvm_passes.objectives.cost.
    """
    match objective:
        case "loaded-bytes":
            return float(max(1, session.sizes().loaded_bytes))
        case "text-bytes":
            return float(max(1, session.sizes().text_bytes))
        case "object-bytes":
            return float(session.sizes().object_bytes)
        case "code-growth":
            return session.opened.reference_sizes().code_growth(session.sizes())
        case "linked-growth":
            return session.opened.reference_sizes().linked_growth(session.sizes())
        case "slowdown":
            return slowdown(costs(session, objective), _run_times(session))
        case "spill-cost":
            return max(1.0, sum(session.generation().spill_costs.values()))
        case "executed-spill-cost":
            return max(1.0, sum(session.executed_costs().spill_costs.values()))
        case "seconds" | "cycles" | "instructions":
            return session.opened.stopwatch().measure(session.object_code(), objective)
    raise UnknownName.among("objective", objective, OBJECTIVES)


def costs(session: CodegenSession, objective: str) -> dict[str, float]:
    """Return each function's share; {} for what has no such shares.

    Raises:
        UnknownName: there is no such objective.
    """
    match objective:
        case "loaded-bytes":
            pairs = session.sizes().functions_loaded
        case "text-bytes":
            pairs = session.sizes().functions
        case "code-growth":
            pairs = session.sizes().functions_constant
        case "linked-growth":
            return session.opened.reference_sizes().loaded_shares(session.sizes())
        case "spill-cost":
            return dict(session.generation().spill_costs)
        case "executed-spill-cost":
            return dict(session.executed_costs().spill_costs)
        case "slowdown":
            opened = session.opened
            return slowdowns(_run_times(session), opened.reference_run_time(), opened.reference_gotos())
        case _:
            if objective not in OBJECTIVES:
                raise UnknownName.among("objective", objective, OBJECTIVES)
            return {}
    return {name: float(share) for name, share in pairs}


def _run_times(session: CodegenSession) -> RunTimes:
    return session.opened.run_times() if session.decided().is_llvms else session.generation().run_times
