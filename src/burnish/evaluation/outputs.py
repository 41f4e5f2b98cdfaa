"""Does the optimized program do what the unoptimized one does?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from burnish.core.errors import CompileError, Miscompiled
from burnish.core.program import Program
from burnish.core.sandbox import Sandbox
from burnish.core.task import Opener, Task
from burnish.core.worker import Limits
from burnish.execution import Execution, RunLimits, differences, link, run_all
from burnish.execution.check import limits_after
from burnish.execution.folder import temporary_folder
from burnish.execution.run import PATIENT


def variant_of(program: Program, variants: Mapping[str, Program] | None, baseline: str) -> Program:
    """Return the program as the front end makes it for a baseline, to be run as the program is."""
    variant = (variants or {}).get(baseline, program)
    return replace(variant, workload=program.workload)


class Outputs:
    """What a program does on its inputs when nothing optimizes it, to compare with.

    The unoptimized program is the task's first baseline; it is built and run when it is first needed.
    """

    def __init__(
        self,
        task: Task,
        program: Program,
        *,
        variants: Mapping[str, Program] | None = None,
        limits: Limits = Limits(),
    ) -> None:
        self._name = next(iter(task.baselines))
        self._opener: Opener = task.baseline(self._name)
        self._program = program
        self._variant = variant_of(program, variants, self._name)
        self._limits = limits
        self._right: tuple[Execution, ...] | None = None

    def check(self, object_bytes: bytes) -> str:
        """Run an object of the program on all inputs; return in words what was compared.

        Raises:
            Miscompiled: it does something else.
        """
        workload = self._program.workload
        if workload is None:
            return "outputs were not compared: the program was not run"
        if self._right is None:
            unoptimized = Sandbox(self._opener, self._variant, limits=self._limits)
            try:
                self._right = self._run(unoptimized.object_code(), PATIENT)
            finally:
                unoptimized.shutdown()
        if wrong := differences(workload, self._run(object_bytes, limits_after(self._right)), self._right):
            raise Miscompiled(
                f"the program does something else than at -{self._name}: {'; '.join(wrong[:3])}"
            )
        count = len(workload.runs)
        return f"outputs equal -{self._name}'s on {count} input{'s' if count > 1 else ''}"

    def _run(self, object_bytes: bytes, limits: RunLimits) -> tuple[Execution, ...]:
        workload = self._program.workload
        assert workload is not None
        with temporary_folder() as folder:
            try:
                executable = link(object_bytes, workload, folder / "program")
            except CompileError as error:
                raise CompileError(f"{self._program.name}: {error}") from None
            return run_all(executable, workload, limits=limits)
