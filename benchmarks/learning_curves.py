"""Learning curves of DD-PPO and of asynchronous PPO against PPO, at equal environment steps.

    python benchmarks/learning_curves.py [--seeds 3] [--steps 86400] [--runs FOLDER]
                                         [--out benchmarks/results/learning_curves]
                                         [--picture docs/learning_curves.svg]

Each run is `burnish train NAME` with the shipped configuration: ppo-autophase with four environments, dd-ppo
with two ranks of two, async-ppo with two actors of two. They need the splits train and val of the public
corpus: `burnish corpus build`. Runs that --runs has already are not repeated; a run that was stopped resumes.
--out gets rows.jsonl, a row for each validation, and table.txt.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib as mpl
from kit.kept import keep
from kit.shown import GRID
from matplotlib.figure import Figure

from burnish.evaluation.report.plots import COLOURS, MARKERS
from burnish.learning.training.track import LOG, read_log
from burnish.learning.training.validation import SCORE

ROOT = Path(__file__).parents[1]
PROCESSES = {"ppo-autophase": 1, "dd-ppo": 2, "async-ppo": 2}
KEPT = ("steps", SCORE, "staleness", "cut")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=86400, help="of all environments of a run together")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "learning_curves")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "learning_curves")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "learning_curves.svg")
    options = parser.parse_args()
    for seed in range(options.seeds):
        for name in PROCESSES:
            train(name, seed, options.steps, options.runs)
    draw(keep(validations(options.seeds, options.runs), options.out, table), options.picture)


def train(name: str, seed: int, steps: int, runs: Path) -> None:
    """Train to the end, unless that is done."""
    limits = (f"steps={steps}", "iterations=100000", "patience=100000", f"seed={seed}")
    changes = [word for limit in limits for word in ("--set", f"run.{limit}")]
    many = ["--processes", str(PROCESSES[name])] if PROCESSES[name] > 1 else []
    where = ["--out", str(runs / f"{name}-{seed}"), "--set", "track.tensorboard=false"]
    subprocess.run([sys.executable, "-m", "burnish.cli", "train", name, *changes, *many, *where], check=True)


def validations(seeds: int, runs: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each validation of each run."""
    for name in PROCESSES:
        for seed in range(seeds):
            for row in read_log(runs / f"{name}-{seed}" / LOG):
                if SCORE in row:
                    yield {"algorithm": name, "seed": seed} | {key: row.get(key, 0.0) for key in KEPT}


def at(rows: Sequence[Mapping[str, Any]], name: str, seed: int) -> tuple[list[float], list[float]]:
    """Return a run's steps, and the best score up to each."""
    own = [row for row in rows if row["algorithm"] == name and row["seed"] == seed]
    scores = [row[SCORE] for row in own]
    return [row["steps"] for row in own], [max(scores[: i + 1]) for i in range(len(scores))]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: the best policies of the runs."""
    lines = ["| algorithm | best policy: -Oz / policy, mean | of each seed | deviation | staleness |"]
    lines.append("|---" * 5 + "|")
    seeds = sorted({row["seed"] for row in rows})
    for name in PROCESSES:
        best = [at(rows, name, seed)[1][-1] for seed in seeds]
        own = [row for row in rows if row["algorithm"] == name]
        stale = mean(row["staleness"] for row in own if row["steps"])
        spread = f"{stdev(best):.3f}" if len(best) > 1 else ""
        each = ", ".join(f"{one:.3f}" for one in best)
        lines.append(f"| {name} | {mean(best):.3f} | {each} | {spread} | {stale:.1f} |")
    return "\n".join(lines)


def draw(rows: Sequence[Mapping[str, Any]], picture: Path) -> None:
    """Draw the best score so far of each run against its steps."""
    mpl.rcParams["svg.hashsalt"] = "burnish"  # so that the same data give the same bytes
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}):
        figure = Figure(figsize=(7, 4), dpi=130, layout="constrained")
        axes = figure.subplots()
    for number, name in enumerate(PROCESSES):
        for seed in sorted({row["seed"] for row in rows}):
            steps, scores = at(rows, name, seed)
            look: dict[str, Any] = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 3.5}
            axes.plot(steps, scores, linewidth=1.2, label=name if seed == 0 else None, **look)
    axes.set(xlabel="steps of all environments", ylabel="-Oz / best policy so far, validation programs")
    axes.set_ylim(bottom=0.98)  # untrained policies are far below
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title("A line for each seed, two processes for DD-PPO and asynchronous PPO", loc="left", size=10)
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
    axes.legend(frameon=False)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
