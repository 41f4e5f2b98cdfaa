"""The minimised objective: the time of a call, as for loop nests."""

from __future__ import annotations

from burnish.tasks.tensors.objectives import OBJECTIVES

__all__ = ["OBJECTIVES"]
