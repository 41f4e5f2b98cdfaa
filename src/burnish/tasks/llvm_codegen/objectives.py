"""What is minimised: what is measured of any object, and what its register allocation is expected to cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from burnish.core.errors import UnknownName
from burnish.core.objective import Objective
from burnish.tasks.llvm_passes.computed_gotos import gotos, losses
from burnish.tasks.llvm_passes.objectives import OBJECTIVES as OF_MODULES
from burnish.tasks.llvm_passes.objectives import slowdown, worst_interpreter

if TYPE_CHECKING:
    from burnish.tasks.llvm_codegen.session import CodegenSession

SPILL_COST, EXECUTED_SPILL_COST = "spill-cost", "executed-spill-cost"

OBJECTIVES: dict[str, Objective] = {
    name: OF_MODULES[name] for name in ("loaded-bytes", "text-bytes", "object-bytes", "code-growth")
} | {
    "slowdown": replace(
        OF_MODULES["slowdown"],
        description="expected run time in units of the reference's: of each function that of its IR, times "
        "its executed machine instructions in units of those of LLVM's own code; the mean of order 4; "
        "or that of the slowest one with computed gotos, of which fewer places are slower, too",
    ),
    SPILL_COST: Objective(
        SPILL_COST,
        "points",
        "LLVM's score of the register allocation (MLGO's reward): copies, loads, stores and "
        "rematerializations of a call of each function by static block frequencies, at least 1",
        dense=False,
        heading="spills",
    ),
    EXECUTED_SPILL_COST: Objective(
        EXECUTED_SPILL_COST,
        "points",
        "the same of all that the runs of the program execute: blocks weigh as often as they were counted, "
        "at least 1",
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
            constant = session.sizes().text_bytes + session.sizes().read_only_bytes
            return constant / max(1, session.opened.reference_constant_bytes())
        case "slowdown":
            ratios = costs(session, objective)
            mean = slowdown(ratios, dict.fromkeys(ratios, 1.0))
            return worst_interpreter(_gotos(session), lambda: ratios, mean)
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
        case "spill-cost":
            return dict(session.generation().spill_costs)
        case "executed-spill-cost":
            return dict(session.executed_costs().spill_costs)
        case "slowdown":
            return _slowdowns(session)
        case _:
            if objective not in OBJECTIVES:
                raise UnknownName.among("objective", objective, OBJECTIVES)
            return {}
    return {name: float(share) for name, share in pairs}


def _slowdowns(session: CodegenSession) -> dict[str, float]:
    """Return by how much each function is expected to be slower than in the reference."""
    ratios = session.opened.costs("slowdown")
    if session.decided().is_llvms:
        return ratios
    stock, executed = session.stock().executed, session.generation().executed
    lost = _goto_losses(session)
    return {
        name: max(ratio * executed[name] / stock[name], lost.get(name, 0.0))
        for name, ratio in ratios.items()
        if stock.get(name) and name in executed
    }


def _goto_losses(session: CodegenSession) -> dict[str, float]:
    """Return by how much functions are slower for having fewer places of computed gotos."""
    now = _gotos(session)
    return losses(now, session.opened.reference_gotos()) if now else {}


def _gotos(session: CodegenSession) -> Mapping[str, int]:
    return gotos(session.opened) if session.decided().is_llvms else session.generation().gotos
