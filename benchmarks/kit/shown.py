"""The table of the fastest forms, numbers in cells, and the plot of ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from burnish.evaluation.report.plots import COLOURS, MARKERS
from kit.rows import Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = "#e5e5e5"


def forms_table(rows: Iterable[Measured], peers: Sequence[str]) -> Table:
    """Return the table of each peer's fastest form."""
    table = Table(title="the fastest form of each peer", title_justify="left")
    for name in ("case", *peers):
        table.add_column(name)
    for row in rows:
        table.add_row(row.case, *(row.form(peer) for peer in peers))
    return table


def microseconds(seconds: float) -> str:
    """Write a time without its unit; "" if it is infinite."""
    if not math.isfinite(seconds):
        return ""
    return f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


def ratio(number: float) -> str:
    """Write a ratio; "" if it is not finite."""
    if not math.isfinite(number):
        return ""
    return f"{number:.2f}" if number < 100 else f"{number:.0f}"


def plot_ratios(axes: Axes, names: Sequence[str], ratios: Mapping[str, Sequence[float]]) -> None:
    """Plot a row of points for each name, one of each peer, on a logarithmic axis.

    Args:
        axes: Where.
        names: The names of the rows, from above.
        ratios: A ratio for each name, by the peer's title.
    """
    places = range(len(names))
    for number, (title, values) in enumerate(ratios.items()):
        axes.scatter(values, places, 22, COLOURS[number], marker=MARKERS[number], label=title, zorder=3)
    axes.set_yticks(places, names, size=7)
    as_ratios(axes, len(names))


def as_ratios(axes: Axes, rows: int) -> None:
    """Make an axis of ratios logarithmic with a line at 1, and let the rows begin above."""
    axes.axvline(1, color="black", linewidth=1)
    axes.set_ylim(rows - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "25" else "")
    axes.tick_params(axis="x", which="both", labelsize=7)
    axes.grid(axis="x", color=GRID)
    axes.set_axisbelow(True)
