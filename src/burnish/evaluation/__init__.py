"""Replaying and judging results."""

from __future__ import annotations

from burnish.evaluation.confirm import confirm, measure_baselines, replay

__all__ = ["confirm", "measure_baselines", "replay"]
