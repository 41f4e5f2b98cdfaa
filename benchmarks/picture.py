"""Draw the results of `burnish demo`: docs/demo.png.

python benchmarks/picture.py demo/results.jsonl docs/demo.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from burnish import Result
from burnish.core.objective import parse_objective

OTHERS = {"Os": "#7f9fbf"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    results = [Result.from_json(line) for line in options.results.read_text().splitlines()]
    draw(
        sorted(results, key=lambda result: result.cost / result.baselines["Oz"], reverse=True),
        options.picture,
    )


def draw(results: list[Result], picture: Path) -> None:
    """Plot the minimised cost of each file, and of all files, relative to clang -Oz."""
    names = [Path(result.program).name for result in results] + ["all files"]
    reference = [result.baselines["Oz"] for result in results]
    figure, axes = plt.subplots(figsize=(8, 0.36 * len(names) + 1.3), dpi=150)
    rows = range(len(names))
    for level, colour in OTHERS.items():
        axes.scatter(
            percent([r.baselines[level] for r in results], reference),
            rows,
            34,
            colour,
            label=f"clang -{level}",
        )
    burnished = percent([result.cost for result in results], reference)
    axes.hlines(rows, burnished, 100, colors="#d9480f", linewidth=2.5)
    axes.scatter(burnished, rows, 52, "#d9480f", zorder=3, label="burnish")
    for row, value in zip(rows, burnished, strict=True):
        label = f"{value - 100:+.1f} %" if value < 100 else "as -Oz"
        axes.annotate(label, (value, row), (-7, -3), textcoords="offset points", ha="right", size=8)
    axes.axvline(100, color="black", linewidth=1, label="clang -Oz")
    axes.set_xlim(left=min(burnished) - 9)
    axes.set_yticks(rows, names)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    axes.set_xlabel(f"{parse_objective(results[0].objective).unlimited}, clang -Oz = 100 (less is better)")
    axes.set_title("The C library zopfli, compiled for size", loc="left", size=11)
    axes.grid(axis="x", color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(picture)


def percent(values: list[float], reference: list[float]) -> list[float]:
    """Return values and their total as percentages of the reference."""
    pairs = zip([*values, sum(values)], [*reference, sum(reference)], strict=True)
    return [100 * value / base for value, base in pairs]


if __name__ == "__main__":
    main()
