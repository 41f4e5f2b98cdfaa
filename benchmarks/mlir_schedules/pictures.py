"""The picture: speed-ups by op, their means, the speed-ups by program, a training curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from kit.shown import GRID, as_ratios, plot_ratios
from matplotlib.figure import Figure

from burnish.evaluation.report.plots import COLOURS
from mlir_schedules.cases import GROUPS, NETWORK
from mlir_schedules.peers import TITLES
from mlir_schedules.rows import NAIVE, Row, mean_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE: dict[Any, Any] = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}
ROW_INCHES = 0.17  # height of a program's row
RETURNS, RATIOS = ("return",), ("validation/ratio", "validation")


def draw(
    rows: Sequence[Row], peers: Sequence[str], picture: Path, log: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Draw three plots, or four with a training curve.

    Args:
        rows: The measured cases.
        peers: The peers, and the naive lowering.
        picture: The file to write.
        log: The lines of a training log, if there is one.
    """
    ops = list(dict.fromkeys(row.op for row in rows))
    height = 3.6 + ROW_INCHES * (len(ops) + len(rows))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, height), dpi=130, layout="constrained")
        tall = [ROW_INCHES * len(ops) + 1.2, ROW_INCHES * len(rows) + 1.2]
        grid = figure.add_gridspec(2, 2, height_ratios=tall, width_ratios=[3, 2])
        by_op, means = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        program = figure.add_subplot(grid[1, 0] if log else grid[1, :])
        if log:
            _curve(figure.add_subplot(grid[1, 1]), log)
    _points(by_op, {op: [row for row in rows if row.op == op] for op in ops}, peers)
    by_op.set_title("By op: geometric means", loc="left", size=10)
    _points(program, {row.case: [row] for row in rows}, peers)
    program.set_title("By program", loc="left", size=10)
    _means(means, rows, peers)
    by_op.legend(frameon=False, fontsize=8, ncols=len(peers), loc="upper left", bbox_to_anchor=(0, -0.1))
    figure.suptitle("Times faster than others, one thread; above 1 burnish's schedule is faster", size=11)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def _points(axes: Axes, named: Mapping[str, Sequence[Row]], peers: Sequence[str]) -> None:
    """Plot a row of points for each name: its ratio to each peer."""
    ratios = {TITLES.get(peer, peer): [mean_ratio(rows, peer) for rows in named.values()] for peer in peers}
    plot_ratios(axes, list(named), ratios)


def _means(axes: Axes, rows: Sequence[Row], peers: Sequence[str]) -> None:
    """Plot bars of the geometric mean of each group, and of all ops."""
    named = {group: [row for row in rows if row.group == group] for group in GROUPS}
    named["all ops"] = [row for row in rows if row.group != NETWORK]
    shown = {name: chosen for name, chosen in named.items() if chosen}
    thick = 0.8 / max(1, len(peers))
    for number, peer in enumerate(peers):
        known = [(place, mean_ratio(chosen, peer)) for place, chosen in enumerate(shown.values())]
        known = [(place, value) for place, value in known if math.isfinite(value)]
        at = [place + (number - (len(peers) - 1) / 2) * thick for place, _ in known]
        axes.barh(at, [value - 1 for _, value in known], thick, 1.0, color=COLOURS[number])
    axes.set_yticks(range(len(shown)), list(shown), size=8)
    as_ratios(axes, len(shown))
    overall = mean_ratio(named["all ops"], NAIVE)
    beside = f"\n({overall:.1f} times the naive lowering)" if math.isfinite(overall) else ""
    axes.set_title(f"By group: geometric means{beside}", loc="left", size=10)


def _curve(axes: Axes, log: Sequence[Mapping[str, Any]]) -> None:
    """Plot a training's return, and its ratio on validation programs, against its steps."""
    axes.set_title("Training", loc="left", size=10)
    for number, names in enumerate((RETURNS, RATIOS)):
        points = [
            (float(line.get("steps", place)), float(line[name]))
            for place, line in enumerate(log)
            for name in names
            if line.get(name) is not None
        ]
        if points:
            at, values = zip(*points, strict=True)
            axes.plot(at, values, color=COLOURS[number], label=names[0], linestyle=("-", "--")[number])
    axes.set_xlabel("steps")
    axes.grid(color=GRID)
    axes.legend(frameon=False, fontsize=8)
