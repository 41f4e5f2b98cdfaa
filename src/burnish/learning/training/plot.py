"""Curves of a training run, from its log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burnish.core.errors import MissingTool
from burnish.learning.training.track import TIMES, missing, position, read_log

FIRST = ("validation/ratio", "return", "entropy", "length", "steps_per_second")
LEFT_OUT = ("iteration", "steps", "episodes", "seconds", "updates", "finished")
COLUMNS = 3
MOST = 12


def plot_log(log: Path, picture: Path) -> None:
    """Draw the metrics of a log, one small plot each, into one file.

    Args:
        log: A log that burnish.learning.training.track.JsonLines wrote.
        picture: The file to write: .png, .svg or .pdf.

    Raises:
        MissingTool: matplotlib is not installed.
        InputError: there is no such log.
    """
    try:
        from matplotlib.figure import Figure  # not pyplot, which keeps figures and needs a display
    except ImportError:
        raise MissingTool(missing("matplotlib", "train", "read the numbers in the log")) from None
    rows = read_log(log)
    names = shown(rows)
    lines = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(4 * COLUMNS, 2.6 * max(1, lines)), layout="constrained")
    for number, name in enumerate(names, 1):
        x, y = curve(rows, name)
        axes = figure.add_subplot(lines, COLUMNS, number)
        axes.plot(x, y, marker="." if len(x) < 30 else "", linewidth=1.2)
        axes.set_title(name, fontsize=9)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
        if name == "validation/ratio":
            axes.axhline(1.0, color="grey", linewidth=0.8, linestyle="--")  # as good as the reference
    figure.supxlabel("steps" if any("steps" in row for row in rows) else "iteration", fontsize=9)
    figure.savefig(picture, dpi=110)


def shown(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of at most MOST metrics that change: those in FIRST, losses, others, validation."""
    names = dict.fromkeys(name for row in rows for name in row)
    rest = [name for name in names if name not in (*FIRST, *LEFT_OUT, *TIMES)]
    rest.sort(key=lambda name: (not name.startswith("loss"), name.startswith("validation/")))
    return [name for name in (*FIRST, *rest) if len(set(curve(rows, name)[1])) > 1][:MOST]


def curve(rows: Sequence[dict[str, Any]], name: str) -> tuple[list[int], list[float]]:
    """Return the positions and values of a metric, from the rows that have one."""
    points = [(position(row), row[name]) for row in rows if row.get(name) is not None]
    return [x for x, _ in points], [y for _, y in points]
