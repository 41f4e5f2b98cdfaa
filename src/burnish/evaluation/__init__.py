"""Replaying, confirming and comparing results."""

from __future__ import annotations

from burnish.evaluation.confirm import confirm, measure_baselines
from burnish.evaluation.optimization import Callbacks, Strategy, optimize
from burnish.evaluation.remeasure import replay, replay_result

__all__ = [
    "Callbacks",
    "Strategy",
    "confirm",
    "measure_baselines",
    "optimize",
    "replay",
    "replay_result",
]
