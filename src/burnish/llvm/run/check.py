"""Comparison of executables by their outputs and exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from burnish.core.errors import CompileError
from burnish.core.program import Program, Workload
from burnish.core.session import Session
from burnish.core.validator import Behaviour
from burnish.llvm.run.executable import link
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.running import PATIENT, Execution, RunLimits, execute

SHOWN = 40  # bytes of an output that a message quotes, around the first difference


def run_all(
    executable: Path, workload: Workload, *, environment: Sequence[str] = (), limits: RunLimits = RunLimits()
) -> tuple[Execution, ...]:
    """Run an executable on every input of a workload, in order."""
    return tuple(
        execute(
            executable,
            run,
            files=workload.files,
            environment=environment,
            limits=limits,
            emulator=workload.emulator,
        )
        for run in workload.runs
    )


def limits_after(reference: Sequence[Execution]) -> RunLimits:
    """Return limits for a program, given a reference's runs: ten times the longest run, plus a second."""
    longest = max((execution.wall_seconds for execution in reference), default=0.0)
    return RunLimits(timeout_seconds=min(PATIENT.timeout_seconds, 1 + 10 * longest))


def differences(
    workload: Workload, seen: Sequence[Execution], reference: Sequence[Execution] | None = None
) -> list[str]:
    """Describe each run that differs from the expected one; the list is empty if no run differs.

    A crash and a timeout are differences, even if the reference crashed or timed out, too. The workload's
    expected outputs count where they are known. Without a reference, the expected exit code is 0.
    """
    found = []
    for number, (run, execution) in enumerate(zip(workload.runs, seen, strict=True)):
        right = reference[number] if reference is not None else None
        problem = _difference(execution, run.expected, right)
        if problem:
            found.append(f"input {run.name!r}: {problem}")
    return found


def _difference(seen: Execution, expected: bytes | None, reference: Execution | None) -> str:
    status = reference.status if reference else 0
    if seen.killed or seen.status < 0:
        told = seen.errors.decode(errors="replace").strip().splitlines()
        return seen.ending + (f": {told[0][:200]}" if told else "")
    if reference and (reference.killed or status < 0):
        return f"the reference: {reference.ending}"
    if seen.status != status:
        return f"{seen.ending}, expected {status}"
    if expected is not None and seen.output != expected:
        return f"prints {_excerpt(seen.output, expected)}"
    if reference and seen.output != reference.output:
        return f"prints {_excerpt(seen.output, reference.output)}"
    return ""


def _excerpt(seen: bytes, right: bytes) -> str:
    """Quote both outputs around their first difference."""
    pairs = zip(seen, right, strict=False)
    first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(seen), len(right)))
    begin = max(0, first - SHOWN // 2)
    texts = [text[begin : begin + SHOWN] for text in (seen, right)]
    return f"{texts[0]!r} at byte {begin} of {len(seen)}, expected {texts[1]!r} of {len(right)}"


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
