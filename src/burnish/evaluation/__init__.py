"""Replaying, confirming and comparing results."""

from __future__ import annotations

from burnish.evaluation.confirm import confirm, measure_baselines
from burnish.evaluation.optimization import Audience, Strategy, optimize
from burnish.evaluation.remeasure import replay, replay_result

__all__ = [
    "Audience",
    "Strategy",
    "confirm",
    "measure_baselines",
    "optimize",
    "replay",
    "replay_result",
]
