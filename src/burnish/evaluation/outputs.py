"""Does the optimized program do what the unoptimized one does?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from burnish.core.errors import Miscompiled
from burnish.core.program import Program
from burnish.core.sandbox import Sandbox
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.worker import Limits


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
        self._task = task
        self._behaviour = task.behaviour(program) if task.behaviour else None
        self._variant = variant_of(program, variants, task.unoptimized)
        self._limits = limits
        self._expected: Any = None

    def check(self, session: Session) -> str:
        """Run the program as a session has it; return in words what was compared.

        Raises:
            Miscompiled: it does something else.
        """
        if self._behaviour is None:
            return "outputs were not compared: the program was not run"
        name = self._task.label(self._task.unoptimized)
        if self._expected is None:
            unoptimized = Sandbox(
                self._task.baseline(self._task.unoptimized), self._variant, limits=self._limits
            )
            try:
                self._expected = self._behaviour.run(unoptimized)
            finally:
                unoptimized.shutdown()
        seen = self._behaviour.run(session, self._expected)
        if wrong := self._behaviour.differences(seen, self._expected):
            raise Miscompiled(f"the program does something else than at {name}: {'; '.join(wrong[:3])}")
        count = self._behaviour.inputs
        return f"outputs equal {name}'s on {count} input{'' if count == 1 else 's'}"
