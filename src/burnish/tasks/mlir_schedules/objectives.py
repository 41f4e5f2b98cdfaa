"""What is minimised: the time of a call, as of a loop nest."""

from __future__ import annotations

from burnish.tasks.tensors.objectives import OBJECTIVES

__all__ = ["OBJECTIVES"]
