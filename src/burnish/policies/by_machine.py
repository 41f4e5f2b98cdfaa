"""Policies for the same task and objective, each trained on programs for some machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from burnish.core.guide import Guide, GuideFor
from burnish.core.session import Session

MACHINE = "machine"  # the observation with a column for each machine


@dataclass(frozen=True)
class ByMachine:
    """Guides a search by the policy for the program's machine."""

    usual: GuideFor  # for programs whose machine has no policy of its own
    others: Mapping[int, GuideFor]  # by the machine's column in the observation

    @property
    def objective(self) -> str:
        """The objective that the usual policy was trained for."""
        return str(getattr(self.usual, "objective", ""))

    def __call__(self, session: Session) -> Guide:
        """Return the guide for a program that was just opened."""
        row = np.asarray(session.observe(MACHINE))
        policy = self.others.get(int(row.argmax()), self.usual) if row.any() else self.usual
        return policy(session)
