"""The table of encoders: equal steps, equal time, seeds."""

from __future__ import annotations

from typing import Any

import encoders
import pytest

from burnish.learning.training.validation import SCORE


def curve(encoder: str, seed: int, *scores: tuple[int, float]) -> list[dict[str, Any]]:
    return [
        {"objective": "ir-instructions", "encoder": encoder, "seed": seed, "steps": steps, SCORE: score}
        for steps, score in scores
    ]


def mean_of(encoder: str, budget: str, ratio: float, seed: int = 0) -> dict[str, Any]:
    where = {"objective": "ir-instructions", "encoder": encoder, "seed": seed, "budget": budget}
    return where | {"ratio": ratio, "seconds": 0.25}


CURVES = [
    *curve("quick", 0, (100, 1.0), (200, 1.02), (400, 1.08)),
    *curve("quick", 1, (100, 1.01), (200, 1.0), (500, 1.06)),
    *curve("graph", 0, (100, 1.03), (210, 1.05)),
    *curve("graph", 1, (100, 1.04), (220, 1.01)),
]
MEANS = [
    mean_of("quick", encoders.ONCE, 1.1),
    mean_of("quick", encoders.ONCE, 1.1, seed=1),
    mean_of("quick", encoders.SEARCHED, 1.2),
    mean_of("random", encoders.SEARCHED, 1.15),
]


def test_policies_are_compared_at_the_steps_that_all_of_them_reached() -> None:
    quick = [row for row in CURVES if row["encoder"] == "quick" and row["seed"] == 0]
    assert encoders.best(quick, "steps", 210) == 1.02
    assert encoders.best(quick, "steps") == 1.08


def test_the_table_has_each_encoder_and_each_search_without_a_policy() -> None:
    lines = encoders.table("ir-instructions", CURVES, MEANS).splitlines()
    assert "| 210 steps |" in lines[2]
    trained = "1.015 (1.010 to 1.020) | 1.070 (1.060 to 1.080)"
    assert lines[4] == f"| quick | 450 | {trained} | 1.100 (1.100 to 1.100) | 0.25 | 1.200 |"
    assert lines[5] == "| graph | 215 | 1.045 (1.040 to 1.050) | 1.045 (1.040 to 1.050) |  |  |  |"
    assert lines[6] == "| none: `random` | | | |  |  | 1.150 |"


@pytest.mark.parametrize(
    ("ratios", "written"), [([], ""), ([1.25], "1.250"), ([2.0, 0.5], "1.000 (0.500 to 2.000)")]
)
def test_the_mean_of_seeds_is_geometric(ratios: list[float], written: str) -> None:
    assert encoders.spread(ratios) == written
