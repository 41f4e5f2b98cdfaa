"""Pictures show what the rows say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.evaluation.importance import Importance
from burnish.evaluation.report.plots import (
    COLOURS,
    improvement_plot,
    passes_plot,
    programs_plot,
    projects_plot,
    training_plot,
)
from burnish.evaluation.rows import Row
from tests.evaluation.rows import row

matplotlib = pytest.importorskip("matplotlib")

ROWS = [
    row("a", 50.0, method="m", curve=((0.1, 1, 80.0), (0.2, 5, 50.0)), evaluations=10),
    row("b", 100.0, method="m", evaluations=10),
    row("c", 125.0, method="m", evaluations=10),
    row("d", None, method="m", evaluations=10),
    *(row(name, 200.0, method="O3", fallback="O3", evaluations=1) for name in "abcd"),
]
OPS = [("matmul:8x8x8", "matmul"), ("matmul:9x9x9", "matmul"), ("conv:3x3", "conv")]


def test_improvement_is_in_percent_of_the_reference() -> None:
    (axes,) = improvement_plot(ROWS).axes
    line = axes.lines[0]
    assert np.asarray(line.get_xdata()).tolist() == [0.5, 1, 5, 10]
    gains = [0, 100 * (1 - 0.8 ** (1 / 4)), 100 * (1 - 0.5 ** (1 / 4)), 100 * (1 - 0.5 ** (1 / 4))]
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx(gains)
    assert axes.get_xlabel() == "evaluations for a program"
    assert axes.get_ylabel() == "total saved over halved, %"
    (legend,) = axes.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["m", "O3"]


def test_a_colour_means_a_method() -> None:
    improvement, programs = improvement_plot(ROWS).axes[0], programs_plot(ROWS).axes[0]
    for axes in (improvement, programs):
        lines, names = axes.get_legend_handles_labels()
        assert names == ["m", "O3"]
        handles: list[Any] = list(lines)
        assert [line.get_color() for line in handles] == list(COLOURS[:2])


def test_failures_are_crosses_and_what_is_beyond_is_an_arrow() -> None:
    (axes,) = programs_plot(ROWS).axes
    shapes = [line.get_marker() for line in axes.lines if len(line.get_xdata()) == 1]  # type: ignore[arg-type]
    assert shapes == ["o", "o", "o", "x", "<", "<", "<", "<"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["d", "c", "b", "a"]


def test_projects_have_the_mean_of_their_programs() -> None:
    rows = [
        row("matmul:8x8x8", 50.0, project="matmul"),
        row("matmul:9x9x9", 200.0, project="matmul"),
        row("conv:3x3", 25.0, project="conv"),
        *(row(name, 200.0, project=project, method="O3", fallback="O3") for name, project in OPS),
    ]
    (axes,) = projects_plot(rows).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["matmul", "conv"]
    bars: list[Any] = list(axes.containers)
    drawn = [(one.lines[0].get_xdata()[0], round(one.lines[0].get_ydata()[0])) for one in bars]
    assert drawn == [(pytest.approx(ratio), place) for ratio, place in ((1, 0), (4, 1), (0.5, 0), (0.5, 1))]
    low, high = axes.get_xlim()
    assert low < 0.5 and high > 4
    (legend,) = axes.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["m", "O3"]


def test_many_programs_have_no_names() -> None:
    rows = [row(f"p{number}", 50.0 + number) for number in range(60)]
    (axes,) = programs_plot(rows[::-1]).axes
    assert axes.get_xlabel() == "programs, in the order of each method's ratios"
    ratios = np.asarray(axes.lines[0].get_ydata()).tolist()
    assert len(ratios) == 60
    assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize(
    "rows",
    [
        [row("a", 100.0)],
        [row("a", None)],
        [row("a", 1.0)],
        [row("a", 100.0, budget="1s", budget_seconds=1.0, seconds=1.0)],
        [row("a", 5000.0), row("a", 1.0, method="n")],
    ],
)
def test_any_rows_can_be_drawn(tmp_path: Path, rows: list[Row]) -> None:
    improvement_plot(rows).savefig(tmp_path / "a.svg")
    programs_plot(rows).savefig(tmp_path / "b.svg")


def test_passes_have_share_and_worth() -> None:
    found = [Importance("x", 0.75, 0.1, 2), Importance("y", 0.5)]
    left, right = passes_plot(found, 8).axes
    bars: list[Any] = list(left.patches)
    assert [bar.get_width() for bar in bars] == [50, 75]
    assert "8 winning traces" in left.get_xlabel()
    assert np.asarray(right.lines[0].get_xdata()).tolist() == pytest.approx([10.517], abs=1e-3)
    assert len(passes_plot([Importance("y", 0.5)], 2).axes) == 1


def test_training_has_return_and_validation() -> None:
    logs: dict[str, list[dict[str, Any]]] = {
        "ppo": [{"steps": 10, "return": 0.1}, {"steps": 20, "return": 0.2, "validation/ratio": 1.01}],
        "old": [{"return": None}, {"validation": 1.02}],
    }
    right, left = training_plot(logs).axes
    assert [np.asarray(line.get_xdata()).tolist() for line in left.lines] == [[10, 20], []]
    assert [np.asarray(line.get_ydata()).tolist() for line in right.lines[:2]] == [[1.01], [1.02]]


def test_matplotlib_is_imported_when_something_is_drawn() -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "import burnish.evaluation.report.plots, burnish.evaluation.report.page, burnish.cli.evaluate\n"
        "assert 'matplotlib' not in sys.modules and 'torch' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        "from burnish.core.errors import MissingTool\n"
        "try: burnish.evaluation.report.plots.training_plot({})\n"
        "except MissingTool as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install" in done.stdout
