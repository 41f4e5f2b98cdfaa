"""Output files of a schedule, and its speed for display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.tasks.mlir_schedules import bindings, lowering
from burnish.tasks.mlir_schedules.payload import Payload, naming, sequence
from burnish.tasks.mlir_schedules.reference.work import flops

GIGA = 1e9


def schedule_text(opened: Payload, scheduled: Payload, script: Sequence[str]) -> str:
    """Return the schedule as a named sequence, for the program's module as it was opened.

    `mlir-opt --transform-interpreter` of the same version applies the sequence; only passes come after it.

    Args:
        opened: The program before any action.
        scheduled: The program after all actions.
        script: The transforms of each step.
    """
    finished = lowering.finish(bindings.clone(scheduled.module))
    return sequence(naming(opened.module) + "".join(script) + finished)


def write_schedule(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of an .mlir file: the trace as comments, then the schedule."""
    steps = "".join(f"// {entry}\n" for entry in session.trace)
    return (steps + _text(session, "schedule")).encode()


def describe(program: Program, session: Session, result: Result) -> str:
    """Return the speed of a schedule and of the baselines, in GFLOP/s."""
    work = flops(program.content.decode())
    rates = {"burnish": result.cost, **result.baselines}
    return "GFLOP/s: " + ", ".join(f"{name} {work / seconds / GIGA:.3g}" for name, seconds in rates.items())


def _text(session: Session, space: str) -> str:
    return cast(str, session.observe(space))
