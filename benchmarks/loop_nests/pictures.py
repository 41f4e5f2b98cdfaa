"""The pictures: each case's ratio to each peer, and speed-ups against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from kit.shown import GRID, plot_ratios

from burnish.evaluation.report.plots import COLOURS, DASHES, MARKERS
from loop_nests.rows import REFINED, Row


def draw_ratios(rows: Sequence[Row], peers: Sequence[str], picture: Path) -> None:
    """Plot each case's speed-up over each peer, on a logarithmic axis."""
    shown = [row for row in rows if row.group != "call"]
    figure, axes = plt.subplots(figsize=(8, 0.27 * len(shown) + 1.4), dpi=150)
    ratios = {peer: [row.ratio(REFINED, peer) for row in shown] for peer in peers}
    plot_ratios(axes, [row.case for row in shown], ratios)
    axes.set_xlabel("times faster than the peer's best form, one thread")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(peers), frameon=False)
    figure.tight_layout()
    figure.savefig(picture)
    plt.close(figure)


def draw_speedups(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    points: Mapping[str, tuple[float, float]],
    published: Sequence[tuple[str, float, float]],
    picture: Path,
) -> None:
    """Plot speed-ups over the naive loops against seconds.

    Args:
        curves: Pairs of seconds and speed-up of the best so far, by method.
        points: The final seconds and speed-up, by method.
        published: Names, seconds and speed-ups of published results.
        picture: The file to write.
    """
    figure, axes = plt.subplots(figsize=(8, 4.6), dpi=150)
    for number, (name, curve) in enumerate(curves.items()):
        colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        seconds, speedups = zip(*curve, strict=True) if curve else ((), ())
        axes.step(seconds, speedups, where="post", color=colour, linestyle=dashes, linewidth=1.3)
        marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]  # no two methods look alike
        axes.plot(*points[name], color=colour, linestyle=dashes, marker=marker, markersize=6, label=name)
    for number, (name, *point) in enumerate(published):
        axes.plot(*point, "k" + "*x+1"[number % 4], markersize=8, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("seconds for a matmul")
    axes.set_ylabel("times faster than the naive loops")
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    figure.savefig(picture)
    plt.close(figure)
