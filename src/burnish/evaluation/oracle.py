"""Does what a trace leads to still do what the program does?"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType

from burnish.core.errors import (
    CompileError,
    CompilerCrash,
    CompilerTimeout,
    IllegalAction,
    InputError,
)
from burnish.core.program import Program, Workload
from burnish.core.sandbox import Sandbox
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.worker import Limits
from burnish.evaluation.states import States
from burnish.execution import Execution, RunLimits, differences, link, run_all
from burnish.execution.folder import temporary_folder
from burnish.toolchain import find_tool

CRASH, HANG, INVALID, CODE_GENERATION, BEHAVIOUR = (
    "the compiler crashes",
    "the compiler does not end",
    "the verifier rejects the module",
    "code generation fails",
    "the program does something else",
)
"""The kinds of failures. A reduced trace fails in the same way as the whole one."""


@dataclass(frozen=True)
class Failure:
    """What is wrong with a trace."""

    kind: str
    detail: str
    seen: tuple[Execution, ...] = ()  # of the broken program, for each run of its workload

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class Oracle:
    """Knows what a program does unoptimized, and checks traces by that."""

    def __init__(
        self,
        task: Task,
        program: Program,
        *,
        limits: Limits = Limits(),
        run_limits: RunLimits = RunLimits(),
    ) -> None:
        """Build the unoptimized program and run it on all inputs, where it has any.

        Raises:
            InputError: unoptimized, it already does not do what it should, or not the same twice.
        """
        self.task = task
        self.program = program
        self.limits = limits
        self.run_limits = run_limits
        self.unoptimized: bytes = b""  # bitcode
        self.reference: tuple[Execution, ...] = ()
        if program.workload:
            self._run_unoptimized(program.workload)
        self.states = States(task, program, limits=limits)
        self._known: dict[str, Failure | None] = {}  # by digest

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.states.close()

    def check(self, trace: Trace) -> Failure | None:
        """Return what is wrong with where a trace leads; None for nothing.

        A trace that cannot be applied at all is not wrong: it is no trace of this program.
        """
        try:
            state = self.states.digests(trace)[-1]
            if state not in self._known:
                self._known[state] = self._look(self.states.session(trace))
            return self._known[state]
        except IllegalAction:
            return None
        except CompilerTimeout as error:
            return Failure(HANG, str(error))
        except CompilerCrash as error:
            return Failure(CRASH, str(error))

    def bitcode(self, trace: Trace) -> bytes:
        """Return the module that a trace leads to.

        Raises:
            CompilerCrash, IllegalAction: it leads nowhere.
        """
        return _bitcode(self.states.session(trace))

    def run(self, bitcode: bytes, level: str) -> tuple[Execution, ...]:
        """Generate code for a module, link it and run it on all inputs.

        Raises:
            CompileError, CompilerTimeout: it cannot be built.
        """
        workload = self.program.workload or Workload(())
        return build_and_run(bitcode, level, workload, self.limits, self.run_limits)

    def _look(self, session: Sandbox) -> Failure | None:
        try:
            session.verify()
        except CompilerTimeout:
            raise
        except CompilerCrash as error:
            return Failure(INVALID, str(error))
        if not self.program.workload:
            return None
        return self.look_at(_bitcode(session), self.task.reference)

    def look_at(self, bitcode: bytes, level: str) -> Failure | None:
        """Return what is wrong with a module of the program, given what it does; None for nothing."""
        assert self.program.workload
        try:
            seen = self.run(bitcode, level)
        except (CompileError, CompilerTimeout) as error:
            return Failure(CODE_GENERATION, str(error))
        found = differences(self.program.workload, seen, self.reference)
        return Failure(BEHAVIOUR, "; ".join(found), seen) if found else None

    def _run_unoptimized(self, workload: Workload) -> None:
        name, opener = next(iter(self.task.baselines.items()))
        session = Sandbox(opener, self.program, limits=self.limits)
        try:
            self.unoptimized = _bitcode(session)
        finally:
            session.shutdown()
        self.reference = self.run(self.unoptimized, name)
        longest = max((execution.wall_seconds for execution in self.reference), default=0.0)
        patience = min(self.run_limits.timeout_seconds, 5 + 20 * longest)
        self.run_limits = replace(self.run_limits, timeout_seconds=patience)
        for seen, what in (
            (self.reference, "does not do what it should"),
            (self.run(self.unoptimized, name), "is not the same twice"),
        ):
            if found := differences(workload, seen, self.reference):
                raise InputError(f"{self.program.name}: at -{name} the program {what}: {'; '.join(found)}")


def _bitcode(session: Sandbox) -> bytes:
    content = session.observe("bitcode")
    assert isinstance(content, bytes)
    return content


def build_and_run(
    bitcode: bytes,
    level: str,
    workload: Workload,
    limits: Limits,
    run_limits: RunLimits,
    *,
    options: Sequence[str] = (),
    sanitizers: Sequence[str] = (),
    environment: Sequence[str] = (),
) -> tuple[Execution, ...]:
    """Generate code for a module with clang, link it with the rest of the program and run it on all inputs.

    Args:
        bitcode: The module; no pass runs on it.
        level: clang's, for code generation.
        workload: What it is linked with, and run on.
        limits: The deadline of clang.
        run_limits: Of each run.
        options: clang's own, beyond that.
        sanitizers: Whose run-time libraries are linked.
        environment: Of each run, as NAME=value.

    Raises:
        CompileError: clang or the linker rejects it.
        CompilerTimeout: clang or the linker does not end.
    """
    command = [str(find_tool("clang")), f"-{level}", "-w", *(options or ("-Xclang", "-disable-llvm-passes"))]
    command += ["-c", "-x", "ir", "-", "-o", "-"]
    try:
        done = subprocess.run(
            command, input=bitcode, capture_output=True, check=False, timeout=limits.deadline_seconds
        )
    except subprocess.TimeoutExpired:
        raise CompilerTimeout(f"no code within {limits.deadline_seconds:g} seconds") from None
    if done.returncode:
        report = done.stderr.decode(errors="replace").strip()
        raise CompileError(f"clang's code generation failed: {report[-2000:]}")
    with temporary_folder() as folder:
        executable = link(done.stdout, workload, folder / "program", sanitizers=sanitizers)
        return run_all(executable, workload, environment=environment, limits=run_limits)
