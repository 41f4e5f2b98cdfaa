"""Comparison of executables by their outputs and exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish.core.program import Workload
from burnish.llvm.run.running import PATIENT, Execution, RunLimits, execute

SHOWN = 40  # bytes of an output that a message quotes, around the first difference


def run_all(
    executable: Path, workload: Workload, *, environment: Sequence[str] = (), limits: RunLimits = RunLimits()
) -> tuple[Execution, ...]:
    """Run an executable on every input of a workload, in order."""
    return tuple(
        execute(executable, run, files=workload.files, environment=environment, limits=limits)
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
