"""Behaviour of object files that have a workload: outputs and exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from burnish.core.errors import CompileError
from burnish.core.program import Program, Workload
from burnish.core.session import Session
from burnish.core.validator import Behaviour
from burnish.llvm.run.check import differences, limits_after, run_all
from burnish.llvm.run.executable import link
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.running import PATIENT, Execution, RunLimits


class ObjectBehaviour(Behaviour):
    """Behaviour of a state's object, linked and run on a workload; outputs are compared byte by byte."""

    same = "prints the same as"

    def __init__(self, name: str, workload: Workload, limits: RunLimits = PATIENT) -> None:
        self.name = name
        self.workload = workload
        self.limits = limits
        self.inputs = len(workload.runs)

    def within(self, seconds: float) -> ObjectBehaviour:
        """See Behaviour."""
        return ObjectBehaviour(self.name, self.workload, RunLimits(timeout_seconds=seconds))

    def run(self, session: Session, expected: Sequence[Execution] | None = None) -> tuple[Execution, ...]:
        """See Behaviour."""
        limits = self.limits
        if expected is not None:
            seconds = min(limits.timeout_seconds, limits_after(expected).timeout_seconds)
            limits = replace(limits, timeout_seconds=seconds)
        with temporary_folder() as folder:
            try:
                executable = link(session.object_code(), self.workload, folder / "program")
            except CompileError as error:
                raise CompileError(f"{self.name}: {error}") from None
            return run_all(executable, self.workload, limits=limits)

    def differences(self, seen: Any, expected: Any) -> list[str]:
        """See Behaviour."""
        return differences(self.workload, seen, expected)


def object_behaviour(program: Program) -> ObjectBehaviour | None:
    """Return the behaviour of a program with a workload; None for a program without one."""
    return ObjectBehaviour(program.name, program.workload) if program.workload else None
