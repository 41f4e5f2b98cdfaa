"""The behaviour of a program, for comparing two of its states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from burnish.core.session import Session


class Behaviour(ABC):
    """Runs a program in a state and compares its outputs: printed bytes, or arrays within a tolerance."""

    inputs = 1  # number of inputs of a run
    same = "does the same as"  # phrase for two runs that do not differ, in messages
    unoptimized: Any = None  # the unoptimized program's output, if it is known without a run

    def within(self, seconds: float) -> Behaviour:
        """Return this behaviour with a time limit for each run; by default itself, without a limit."""
        return self

    @abstractmethod
    def run(self, session: Session, expected: Any = None) -> Any:
        """Run the program in a session's state, and return its output.

        Args:
            session: The state.
            expected: The unoptimized program's output, if known; its run time limits this run's.

        Raises:
            InputError: the program cannot be built.
        """

    @abstractmethod
    def differences(self, seen: Any, expected: Any) -> list[str]:
        """Return in words the differences of two runs beyond the tolerance; [] if there are none."""
