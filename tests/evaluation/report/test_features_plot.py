"""The picture of which features a policy's answers depend on."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.evaluation.importance import FeatureImportance
from burnish.evaluation.report.plots import MOST_FEATURES, features_plot, save_plot

FOUND = [
    FeatureImportance("threshold", 0.5, 900.0, 30.0),
    FeatureImportance("num_loops", 0.25, 400.0, 10.0),
    FeatureImportance("callee_users", 0.01, -8.0, 2.0),
    FeatureImportance("cold_cc_penalty", 0.0, 0.0),
]


def test_costs_and_answers_are_side_by_side_the_costliest_on_top() -> None:
    figure = features_plot(FOUND, "What it looks at", "bytes")
    costs, answers = figure.axes
    names = [label.get_text() for label in costs.get_yticklabels()]
    assert names == ["callee_users", "num_loops", "threshold"]
    assert [bar.get_width() for bar in costs.patches] == [-8.0, 400.0, 900.0]  # type: ignore[attr-defined]
    assert [bar.get_width() for bar in answers.patches] == [1.0, 25.0, 50.0]  # type: ignore[attr-defined]
    assert costs.get_xlabel().startswith("bytes more")
    assert figure.get_suptitle() == "What it looks at\n(0 more cost less, 1 change no answer)"


def test_many_features_are_left_out_and_counted() -> None:
    many = [FeatureImportance(f"f{i}", 0.1, float(99 - i)) for i in range(MOST_FEATURES + 5)]
    figure = features_plot(many, "All", "bytes")
    assert len(figure.axes[0].get_yticklabels()) == MOST_FEATURES
    assert "5 more cost less, 0 change no answer" in figure.get_suptitle()
    assert features_plot(FOUND[:2], "Two", "bytes").get_suptitle() == "Two"


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_a_picture_is_of_the_kind_that_its_name_says(suffix: str, tmp_path: Path) -> None:
    save_plot(features_plot(FOUND, "What it looks at", "bytes"), path := tmp_path / f"features{suffix}")
    begin = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(begin)
    with pytest.raises(InputError, match=r"features\.sqrt"):
        save_plot(features_plot(FOUND, "What it looks at", "bytes"), path.with_suffix(".sqrt"))
