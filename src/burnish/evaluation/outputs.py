"""Comparison of an optimized program's outputs with the unoptimized program's."""

from __future__ import annotations

from typing import Any

from burnish.core.errors import Miscompiled
from burnish.core.session import Session
from burnish.search.problem import Problem


class Outputs:
    """The unoptimized program's outputs on its inputs, for comparison.

    The unoptimized program is the task's first baseline; the first `check` builds and runs it.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        make = problem.task.checks.behaviour
        self._behaviour = make(problem.program) if make else None
        self._expected: Any = self._behaviour.unoptimized if self._behaviour else None

    def check(self, session: Session) -> str:
        """Run the program in a session's state; return the comparison in words.

        Raises:
            Miscompiled: the program's outputs differ from the unoptimized program's.
        """
        if self._behaviour is None:
            return "outputs were not compared: the program was not run"
        task = self._problem.task
        if self._expected is None:
            unoptimized = self._problem.open_baseline(task.unoptimized)
            try:
                self._expected = self._behaviour.run(unoptimized)
            finally:
                unoptimized.shutdown()
        seen = self._behaviour.run(session, self._expected)
        name = task.label(task.unoptimized)
        if wrong := self._behaviour.differences(seen, self._expected):
            raise Miscompiled(f"the program behaves differently from {name}: {'; '.join(wrong[:3])}")
        count = self._behaviour.inputs
        return f"outputs equal {name}'s on {count} input{'' if count == 1 else 's'}"
