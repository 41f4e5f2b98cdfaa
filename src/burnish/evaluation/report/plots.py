"""Plots of an evaluation. Drawing a plot imports matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.errors import InputError, MissingTool, install
from burnish.evaluation.importance import FeatureImportance, Importance
from burnish.evaluation.report.curves import longest_curves
from burnish.evaluation.report.labels import distinct_labels
from burnish.evaluation.rows import Row
from burnish.evaluation.statistics import CONFIDENCE, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A colour means a method. Each has a contrast of 4.5 on white; lines also differ in their dashes.
COLOURS = ("#0072b2", "#b84c00", "#007a5a", "#a03e86", "#7a6a00", "#0e7c8b", "#5f4bb6")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "h")
INK, AXIS, GRID, PAPER, FILL = "#1b1f24", "#6b7280", "#e2e5e9", "#ffffff", "#59636f"
WIDE, NARROW = 8.0, 3.7  # inches: of a page, and of a telephone's screen
NAMED_PROGRAMS = 24  # a plot of more programs has no names
MOST_PASSES = 20
MOST_FEATURES = 20
TICKS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.4, 1.6, 2.0, 3.0, 5.0, 10.0)


def improvement_plot(rows: Sequence[Row], *, confidence: float = CONFIDENCE, width: float = WIDE) -> Figure:
    """Draw improvement against budget: each method's best so far within its longest budget.

    The points are the methods' results at the end of each budget, with intervals.

    Args:
        rows: At least one row.
        confidence: The confidence of the intervals.
        width: The figure's width in inches.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    figure, (axes,) = _figure(width, 4.0)
    curves = longest_curves(rows)
    timed = any(curve.timed for curve in curves)
    summaries = summarise(
        [row for row in rows if (row.budget_seconds is not None) == timed], confidence=confidence
    )
    first = min((curve.positions[1] for curve in curves if len(curve.positions) > 2), default=1.0)
    styles = _styles(rows)
    for number, curve in enumerate(curves):
        colour, dashes, marker = styles[curve.method]
        axes.step(
            [max(position, first / 2) for position in curve.positions],
            _percents(curve.ratios),
            where="post",
            color=colour,
            linestyle=dashes,
            label=curve.method,
        )
        beside = 1.03 ** (number - (len(curves) - 1) / 2)  # shift, so that intervals do not hide each other
        for item in (item for item in summaries if item.method == curve.method):
            mean = item.guarded
            ends = (mean.ratio if end is None else end for end in (mean.low, mean.high))
            middle, low, high = _percents((mean.ratio, *ends))
            position = item.seconds if timed else item.evaluations
            axes.errorbar(
                beside * max(position, first / 2),
                middle,
                yerr=[[middle - low], [high - middle]],
                color=colour,
                marker=marker,
                markersize=6,
                capsize=3,
                linestyle="none",
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "25" else "")
    axes.set_xlabel("seconds for a program" if timed else "evaluations for a program")
    axes.set_ylabel(f"{rows[0].objective} saved over {rows[0].reference}, %")
    _legend(figure, axes, width)
    return figure


def programs_plot(rows: Sequence[Row], *, width: float = WIDE) -> Figure:
    """Draw the ratio of every program and method within the rows' last budget.

    Up to NAMED_PROGRAMS programs have a line each, in the first method's order; of more programs, each method
    has its sorted ratios. Ratios beyond those of the searches are arrows at the edge.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    kept = [row for row in rows if row.budget == rows[-1].budget]
    styles = _styles(rows)
    methods = list(dict.fromkeys(row.method for row in kept))
    programs = list(dict.fromkeys(row.program for row in kept))
    # Baselines and failures may be far worse than any search's result.
    ratios = [row.ratio for row in kept if row.valid and row.fallback != row.method] or [1.0]
    low, high = min([*ratios, 0.97]) / 1.03, max([*ratios, 1.05]) * 1.03
    label = f"{kept[0].reference} / method: above 1 is better"
    if len(programs) > NAMED_PROGRAMS:
        figure, (axes,) = _figure(width, 4.0)
        for method in methods:
            ordered = sorted((row.ratio for row in kept if row.method == method), reverse=True)
            colour, dashes, _ = styles[method]
            places = range(1, len(ordered) + 1)
            axes.step(places, ordered, where="mid", color=colour, linestyle=dashes, label=method)
        axes.axhline(1.0, color=INK, linewidth=0.8)
        _ratio_axis(axes, low, high, most=8)
        axes.set_xlabel("programs, in the order of each method's ratios")
        axes.set_ylabel(label)
    else:
        first = {row.program: row.ratio for row in kept if row.method == methods[0]}
        programs.sort(key=lambda name: first.get(name, 0.0))
        figure, (axes,) = _figure(width, 1.2 + (0.14 + 0.1 * len(methods)) * len(programs))
        for number, method in enumerate(methods):
            lower = 0.6 * ((len(methods) - 1) / 2 - number) / len(methods)
            own = [row for row in kept if row.method == method]
            _points(axes, own, [programs.index(row.program) + lower for row in own], (low, high), styles)
        axes.axvline(1.0, color=INK, linewidth=0.8)
        axes.set_yticks(range(len(programs)), distinct_labels(programs))
        axes.set_ylim(-0.6, len(programs) - 0.4)
        _ratio_axis(axes, low, high, most=int(width), along_x=True)
        axes.set_xlabel(_folded(label, width))
    _legend(figure, axes, width)
    return figure


def projects_plot(rows: Sequence[Row], *, confidence: float = CONFIDENCE, width: float = WIDE) -> Figure:
    """Draw each method's mean ratio by project (packages, ops, families of nests) within the last budget.

    Projects are in the order of the first method's means. A mean of several programs has its interval.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    kept = [row for row in rows if row.budget == rows[-1].budget]
    means = {
        (item.project, item.method): item.unguarded
        for item in summarise(kept, confidence=confidence, by_project=True)
    }
    methods = list(dict.fromkeys(row.method for row in kept))
    projects = list(dict.fromkeys(row.project for row in kept))
    projects.sort(key=lambda name: means[name, methods[0]].ratio if (name, methods[0]) in means else 0.0)
    figure, (axes,) = _figure(width, 1.2 + (0.14 + 0.1 * len(methods)) * len(projects))
    styles = _styles(rows)
    ends = [1.0]
    for number, method in enumerate(methods):
        colour, _, marker = styles[method]
        lower = 0.6 * ((len(methods) - 1) / 2 - number) / len(methods)
        axes.plot([], [], linestyle="none", marker=marker, color=colour, label=method)
        for place, project in enumerate(projects):
            if (mean := means.get((project, method))) is None:
                continue
            low, high = (mean.ratio if end is None else end for end in (mean.low, mean.high))
            axes.errorbar(
                mean.ratio,
                place + lower,
                xerr=[[mean.ratio - low], [high - mean.ratio]],
                color=colour,
                marker=marker,
                markersize=5,
                capsize=2,
            )
            ends += [low, high]
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(projects)), projects)
    axes.set_ylim(-0.6, len(projects) - 0.4)
    _ratio_axis(axes, min(ends) / 1.03, max([*ends, 1.05]) * 1.03, most=int(width), along_x=True)
    axes.set_xlabel(_folded(f"{kept[0].reference} / method: above 1 is better", width))
    _legend(figure, axes, width)
    return figure


def _points(
    axes: Axes,
    rows: Sequence[Row],
    heights: Sequence[float],
    ends: tuple[float, float],
    styles: Mapping[str, tuple[Any, Any, Any]],
) -> None:
    """Draw one method's ratios as points: arrows beyond the ends, crosses for failures."""
    low, high = ends
    colour, _, marker = styles[rows[0].method]
    axes.plot([], [], linestyle="none", marker=marker, color=colour, label=rows[0].method)
    for row, height in zip(rows, heights, strict=True):
        shape = "x" if not row.valid else "<" if row.ratio < low else ">" if row.ratio > high else marker
        place = min(max(row.ratio, low * 1.005), high / 1.005)
        axes.plot(place, height, marker=shape, color=colour, markersize=5, clip_on=False)


def passes_plot(found: Sequence[Importance], traces: int, *, width: float = WIDE) -> Figure:
    """Draw the importance of passes: their share of the winning traces, and the cost increase without them.

    Args:
        found: The passes, the most frequent first.
        traces: The number of winning traces.
        width: The figure's width in inches.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    shown = list(found[:MOST_PASSES])[::-1]
    effects = any(item.effect is not None for item in shown)
    height = 1.0 + 0.24 * max(1, len(shown))
    figure, panels = _figure(width, height, columns=2 if effects else 1)
    axes, positions = panels[0], range(len(shown))
    axes.barh(positions, [100 * item.share for item in shown], color=FILL, height=0.6)
    names = distinct_labels([item.name for item in shown], most=30 if width > NARROW else 22)
    axes.set_yticks(positions, names)
    axes.set_xlabel(_folded(f"% of {traces} winning traces that have it", width))
    axes.grid(axis="y", visible=False)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    if effects:
        axes = panels[1]
        known = [(y, item) for y, item in zip(positions, shown, strict=True) if item.effect is not None]
        values = [100 * math.expm1(item.effect or 0.0) for _, item in known]
        axes.hlines([y for y, _ in known], 0, values, color=FILL)
        axes.plot(values, [y for y, _ in known], linestyle="none", marker="o", color=FILL)
        axes.set_yticks(positions, ["" for _ in shown])
        axes.set_xlabel("% more cost without it\n(mean over a sample of traces that have it)")
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_ylim(-0.7, len(shown) - 0.3)
    return figure


def features_plot(found: Sequence[FeatureImportance], title: str, unit: str) -> Figure:
    """Draw the importance of a policy's features: the cost of permuting each, and the changed answers.

    Args:
        found: The features, the costliest first; features that change no answer are left out.
        title: The plot's title, such as the policy's name.
        unit: The unit of the costs.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    known = [item for item in found if item.changed]
    shown = known[:MOST_FEATURES][::-1]
    figure, panels = _figure(8.0, 1.5 + 0.24 * max(1, len(shown)), columns=2)
    positions = range(len(shown))
    costs, deviations = [item.cost for item in shown], [item.deviation for item in shown]
    whiskers = {"ecolor": INK, "elinewidth": 0.8, "capsize": 2}
    panels[0].barh(positions, costs, xerr=deviations, color=FILL, error_kw=whiskers)
    panels[0].set_yticks(positions, [item.name for item in shown])
    panels[0].axvline(0, color=INK, linewidth=0.8)
    panels[0].set_xlabel(f"{unit} more when the feature is permuted\n(whiskers: deviation over permutations)")
    panels[1].barh(positions, [100 * item.changed for item in shown], color=FILL)
    panels[1].set_yticks(positions, ["" for _ in shown])
    panels[1].set_xlabel("% of answers that change")
    for axes in panels:
        axes.grid(axis="y", visible=False)
        axes.set_ylim(-0.7, len(shown) - 0.3)
    rest = f"{len(known) - len(shown)} more cost less, {len(found) - len(known)} change no answer"
    figure.suptitle(f"{title}\n({rest})" if len(shown) < len(found) else title, fontsize=10)
    return figure


def training_plot(logs: Mapping[str, Sequence[Mapping[str, Any]]], *, width: float = WIDE) -> Figure:
    """Draw the ratio on validation programs and the return of training runs against their steps.

    Args:
        logs: The lines of each run's log, by run: see burnish.learning.training.track.read_log.
        width: The figure's width in inches.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    wide = width > NARROW
    figure, panels = _figure(width, 3.4 if wide else 5.0, rows=1 if wide else 2, columns=2 if wide else 1)
    from matplotlib.ticker import EngFormatter

    metrics = (
        (("validation/ratio", "validation"), "ratio on validation programs"),
        (("return",), "return, log(start / final)"),
    )
    for axes, (names, label) in zip(panels, metrics, strict=True):
        for number, (run, lines) in enumerate(logs.items()):
            points = [
                (float(line.get("steps", place)), float(line[name]))
                for place, line in enumerate(lines)
                for name in names
                if line.get(name) is not None
            ]
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                label=run,
                color=COLOURS[number % len(COLOURS)],
                linestyle=DASHES[number % len(DASHES)],
                marker=MARKERS[number % len(MARKERS)] if len(points) <= 40 else "",
                markersize=4,
            )
        axes.set_xlabel("steps")
        axes.set_ylabel(label)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # such as 200k
    if logs:
        _legend(figure, panels[0], width)
    panels[0].axhline(1.0, color=INK, linewidth=0.8)  # as good as the reference
    return figure


def save_plot(figure: Figure, path: Path) -> None:
    """Write a picture in the format of the path's suffix; the same figure gives the same SVG.

    Raises:
        InputError: the suffix is not a picture format.
    """
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _figure(width: float, height: float, *, rows: int = 1, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, without changing matplotlib's global state."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingTool(f"pictures take matplotlib: {install('train')}") from None
    style: dict[Any, Any] = {"axes.grid": True, "grid.color": GRID, "axes.axisbelow": True, "font.size": 9}
    style |= {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": AXIS}
    style |= dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 9)
    style |= dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK)
    style |= {"xtick.color": AXIS, "ytick.color": AXIS, "figure.facecolor": PAPER, "axes.facecolor": PAPER}
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
        panels = [figure.add_subplot(rows, columns, number + 1) for number in range(rows * columns)]
    return figure, panels


def _styles(rows: Sequence[Row]) -> dict[str, tuple[Any, Any, Any]]:
    """Return each method's colour, dashes and marker, the same in all plots of the rows."""
    return {
        method: (COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)])
        for place, method in enumerate(dict.fromkeys(row.method for row in rows))
    }


def _legend(figure: Figure, axes: Axes, width: float) -> None:
    """Name the methods above the panels, in as many columns as there is room for."""
    lines, names = axes.get_legend_handles_labels()
    letters = max(map(len, names), default=0) + 6
    columns = max(1, min(len(names), int(width * 12 / letters)))
    figure.legend(
        lines, names, loc="outside upper left", ncols=columns, frameon=False, fontsize=9, labelcolor=INK
    )


def _folded(text: str, width: float) -> str:
    """Break a panel's label into lines that a narrow figure has room for."""
    return text if width > NARROW else textwrap.fill(text, 22)


def _percents(ratios: Sequence[float]) -> list[float]:
    """Return the savings of ratios, in percent."""
    return [100 * (1 - 1 / ratio) for ratio in ratios]


def _ratio_axis(axes: Axes, low: float, high: float, *, most: int, along_x: bool = False) -> None:
    """Make an axis logarithmic, with at most about `most` ticks that are ratios."""
    axis = axes.xaxis if along_x else axes.yaxis
    (axes.set_xscale if along_x else axes.set_yscale)("log")
    (axes.set_xlim if along_x else axes.set_ylim)(low, high)
    gap = (high / low) ** (1 / most)
    ticks = [1.0]
    for tick in (*(tick for tick in TICKS if tick > 1), *(tick for tick in TICKS[::-1] if tick < 1)):
        if low <= tick <= high and all(max(tick / other, other / tick) >= gap for other in ticks):
            ticks.append(tick)
    axis.set_ticks(ticks, [f"{tick:.2f}" for tick in ticks])
    axis.set_ticks([], minor=True)
