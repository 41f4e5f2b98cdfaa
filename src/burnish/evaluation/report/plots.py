"""Plots of an evaluation. Drawing a plot imports matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.errors import InputError, MissingTool, install
from burnish.evaluation.importance import FeatureImportance, Importance
from burnish.evaluation.report.curves import longest_curves
from burnish.evaluation.rows import Row
from burnish.evaluation.statistics import CONFIDENCE, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which all readers can distinguish; lines also differ in their dashes.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BETTER, SAME, WORSE, FAILED = "#0072B2", "#999999", "#E69F00", "#000000"
NAMED_PROGRAMS = 24  # a plot with more bars has no names
MOST_PASSES = 20
MOST_FEATURES = 20
MOST_TICKS = 8
TICKS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.4, 1.6, 2.0, 3.0, 5.0, 10.0)


def improvement_plot(rows: Sequence[Row], *, confidence: float = CONFIDENCE) -> Figure:
    """Draw improvement against budget: each method's best so far within its longest budget.

    The points are the methods' results at the end of each budget, with intervals.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    figure, (axes,) = _figure(7.2, 4.2)
    curves = longest_curves(rows)
    timed = any(curve.timed for curve in curves)
    summaries = summarise(
        [row for row in rows if (row.budget_seconds is not None) == timed], confidence=confidence
    )
    first = min((curve.positions[1] for curve in curves if len(curve.positions) > 2), default=1.0)
    for number, curve in enumerate(curves):
        colour, dashes, marker = (choice[number % len(choice)] for choice in (COLOURS, DASHES, MARKERS))
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
    axes.set_xlabel("time for a program, seconds" if timed else "evaluations for a program")
    axes.set_ylabel(f"{rows[0].objective} saved over -{rows[0].reference}, %")
    programs = len({row.program for row in rows})
    axes.set_title(
        f"Best so far: geometric mean of {programs} programs, -{rows[0].reference} kept where it is better\n"
        f"Points: the end of each budget, {confidence:.0%} interval",
        loc="left",
        fontsize=9,
    )
    axes.legend(frameon=False, fontsize=9)
    return figure


def programs_plot(rows: Sequence[Row]) -> Figure:
    """Draw each program's ratio within the rows' last budget, with one panel per method.

    Up to NAMED_PROGRAMS programs have names and the first method's order; more have each method's own order.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    budget = rows[-1].budget
    kept = [row for row in rows if row.budget == budget]
    methods = list(dict.fromkeys(row.method for row in kept))
    named = len({row.program for row in kept}) <= NAMED_PROGRAMS
    first = {row.program: row.ratio for row in kept if row.method == methods[0]}
    order = sorted(dict.fromkeys(row.program for row in kept), key=lambda name: -first.get(name, 0.0))
    figure, panels = _figure(8.0, 0.6 + (2.6 if named else 1.9) * len(methods), rows=len(methods))
    for number, (axes, method) in enumerate(zip(panels, methods, strict=True)):
        own = {row.program: row for row in kept if row.method == method}
        if not named:
            order = sorted(own, key=lambda name: -own[name].ratio)
        ordered = [own[name] for name in order if name in own]
        axes.bar(
            range(len(ordered)),
            [row.ratio - 1 for row in ordered],
            bottom=1.0,
            color=[_colour(row) for row in ordered],
            width=0.9,
        )
        axes.axhline(1.0, color="black", linewidth=0.8)
        # Baselines have a scale of their own, because they may be far worse than any search's result.
        alike = [row.ratio for row in kept if bool(row.fallback) == bool(ordered[0].fallback)]
        _ratio_axis(axes, alike)
        wins = sum(row.is_better for row in ordered)
        losses = sum(row.is_worse for row in ordered)
        failures = sum(not row.valid for row in ordered)
        title = f"{method}: {wins} better, {len(ordered) - wins - losses} equal, {losses} worse"
        title += f" ({failures} failed, black)" if failures else ""
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_ylabel(f"-{kept[0].reference} / method")
        axes.set_xlim(-0.7, len(ordered) - 0.3)
        if named:
            labels = [Path(row.program).name.rpartition(":")[2] for row in ordered]
            axes.set_xticks(range(len(ordered)), labels, rotation=45, ha="right", fontsize=7)
        elif number == len(methods) - 1:
            axes.set_xlabel("programs, in the order of their ratios")
    figure.suptitle(
        f"{kept[0].objective}, budget {budget}: above 1 the method is better (ratio, logarithmic)",
        fontsize=10,
    )
    return figure


def passes_plot(found: Sequence[Importance], traces: int) -> Figure:
    """Draw the importance of passes: their share of the winning traces, and the cost increase without them.

    Args:
        found: The passes, the most frequent first.
        traces: The number of winning traces.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    shown = list(found[:MOST_PASSES])[::-1]
    effects = any(item.effect is not None for item in shown)
    height = 1.3 + 0.24 * max(1, len(shown))
    figure, panels = _figure(8.0 if effects else 5.6, height, columns=2 if effects else 1)
    axes, positions = panels[0], range(len(shown))
    axes.barh(positions, [100 * item.share for item in shown], color=BETTER)
    axes.set_yticks(positions, [item.name for item in shown], fontsize=8)
    axes.set_xlabel(f"% of {traces} winning traces that have it")
    axes.grid(axis="y", visible=False)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    if effects:
        axes = panels[1]
        known = [(y, item) for y, item in zip(positions, shown, strict=True) if item.effect is not None]
        values = [100 * math.expm1(item.effect or 0.0) for _, item in known]
        axes.hlines([y for y, _ in known], 0, values, color=COLOURS[5])
        axes.plot(values, [y for y, _ in known], linestyle="none", marker="o", color=COLOURS[5])
        axes.set_yticks(positions, ["" for _ in shown])
        axes.set_xlabel("% more cost without it\n(mean over a sample of traces that have it)")
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_ylim(-0.7, len(shown) - 0.3)
    figure.suptitle("Which passes matter", fontsize=10)
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
    whiskers = {"ecolor": "black", "elinewidth": 0.8, "capsize": 2}
    panels[0].barh(positions, costs, xerr=deviations, color=BETTER, error_kw=whiskers)
    panels[0].set_yticks(positions, [item.name for item in shown], fontsize=8)
    panels[0].axvline(0, color="black", linewidth=0.8)
    panels[0].set_xlabel(f"{unit} more when the feature is permuted\n(whiskers: deviation over permutations)")
    panels[1].barh(positions, [100 * item.changed for item in shown], color=SAME)
    panels[1].set_yticks(positions, ["" for _ in shown])
    panels[1].set_xlabel("% of answers that change")
    for axes in panels:
        axes.grid(axis="y", visible=False)
        axes.set_ylim(-0.7, len(shown) - 0.3)
    rest = f"{len(known) - len(shown)} more cost less, {len(found) - len(known)} change no answer"
    figure.suptitle(f"{title}\n({rest})" if len(shown) < len(found) else title, fontsize=10)
    return figure


def training_plot(logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Draw the return and the ratio on validation programs of training runs against their steps.

    Args:
        logs: The lines of each run's log, by run: see burnish.learning.training.track.read_log.

    Raises:
        MissingTool: matplotlib is not installed.
    """
    figure, panels = _figure(8.0, 3.4, columns=2)
    from matplotlib.ticker import EngFormatter

    metrics = (
        (("return",), "return, log(start / final)"),
        (("validation/ratio", "validation"), "validation ratio"),
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
        panels[0].legend(frameon=False, fontsize=8)
    panels[1].axhline(1.0, color="black", linewidth=0.8)  # as good as the reference
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
    style: dict[Any, Any] = {"axes.grid": True, "grid.color": "#e5e5e5", "axes.axisbelow": True}
    style |= {"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
        panels = [figure.add_subplot(rows, columns, number + 1) for number in range(rows * columns)]
    return figure, panels


def _percents(ratios: Sequence[float]) -> list[float]:
    """Return the savings of ratios, in percent."""
    return [100 * (1 - 1 / ratio) for ratio in ratios]


def _colour(row: Row) -> str:
    if not row.valid:
        return FAILED
    return BETTER if row.is_better else WORSE if row.is_worse else SAME


def _ratio_axis(axes: Axes, ratios: Sequence[float]) -> None:
    """Make the y axis logarithmic, with ticks that are ratios."""
    low, high = min([*ratios, 0.97]) / 1.03, max([*ratios, 1.05]) * 1.03
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    gap = (high / low) ** (1 / MOST_TICKS)
    ticks = [1.0]
    for tick in (*(tick for tick in TICKS if tick > 1), *(tick for tick in TICKS[::-1] if tick < 1)):
        if low <= tick <= high and all(max(tick / other, other / tick) >= gap for other in ticks):
            ticks.append(tick)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks([], minor=True)
