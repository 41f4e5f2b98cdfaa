"""A case of loop nests, measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kit.rows import Measured

POLICY, REFINED, PEAK = "policy", "refined", "peak"
CALLED = {name: f"{name} call" for name in (POLICY, REFINED)}
"""The names of our samples that are called from Python like the peers, not from a loop of machine code."""


@dataclass(frozen=True, kw_only=True)
class Row(Measured):
    """A case, measured in interleaved rounds."""

    nest: str  # its text
    peak_flops: int  # of a call of the probe
    schedules: Mapping[str, Mapping[str, Any]]  # of policy and refined: tree, seconds of finding it

    @property
    def of_peak(self) -> float:
        """The share of the machine's peak that the refined schedule reaches."""
        return (self.flops / self.seconds(REFINED)) / (self.peak_flops / self.seconds(PEAK))
