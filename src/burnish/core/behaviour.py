"""The behaviour of a program, by which two states of it are compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from burnish.core.session import Session


class Behaviour(ABC):
    """Runs a program in a state and compares what it did: bytes that it prints, arrays within a tolerance."""

    inputs = 1  # how many a program is run on
    same = "does the same as"  # of two runs that do not differ
    unoptimized: Any = None  # what programs do unoptimized, where none has to run for that

    def within(self, seconds: float) -> Behaviour:
        """Return a behaviour of which no run takes longer; by default this one, where nothing has limits."""
        return self

    @abstractmethod
    def run(self, session: Session, expected: Any = None) -> Any:
        """Run the program as a session has it, and return what it did.

        Args:
            session: The state.
            expected: What it does unoptimized, where that is known: it is not waited for much longer.

        Raises:
            InputError: it cannot be built.
        """

    @abstractmethod
    def differences(self, seen: Any, expected: Any) -> list[str]:
        """Return in words where two runs differ by more than they may; nothing where they do not."""
