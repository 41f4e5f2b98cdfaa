"""The published MLIR-RL's PPO on its 17 programs, by measured schedules, beside searches of equally many.

    python benchmarks/schedule_learning.py [--iterations 30] [--jobs 2] [--seed 0] [--runs FOLDER]
                                           [--out benchmarks/results/schedule_learning]
                                           [--picture docs/schedule_learning.svg]

PPO is `burnish train mlir-ppo-published` on set17:all, where it is validated, too, by the most probable
action in each state. A schedule that is validated counts as measured. The searches are `burnish evaluate` on
the same programs: random sketches, and the shipped policy's. Figures are the naive schedule's time divided by
the schedule's, geometric means over the 17 programs. A run that --runs has is not repeated; a run that was
stopped resumes. --out gets rows.jsonl, a row for each point of the curves, and table.txt.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from kit.commands import burnish
from kit.kept import keep
from kit.shown import GRID
from matplotlib.figure import Figure

from burnish.evaluation.report.plots import COLOURS, MARKERS
from burnish.evaluation.rows import Row, read_rows
from burnish.learning.training.track import LOG, read_log
from burnish.learning.training.validation import SCORE

ROOT = Path(__file__).parents[1]
CONFIG, PROGRAMS, COUNT = "mlir-ppo-published", "set17:all", 17
EPISODES = 68  # an iteration's: four on each program
VALIDATE_EVERY = 2  # iterations
STANDARDIZE = 200  # steps, for the means and deviations of features
GREEDY, DRAWN = "PPO, most probable actions", "PPO, actions as drawn"
SEARCHES = {"random": "random sketches", "mixed@shipped": "the shipped policy's sketches"}
SHOWN = (1, 4, 16, 64)  # schedules of a program, in the table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--iterations", type=int, default=30, help=f"of PPO, {EPISODES} schedules each; 0: as the run is"
    )
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "schedule_learning")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "schedule_learning")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "schedule_learning.svg")
    options = parser.parse_args()
    if options.iterations:
        train(options)
    learned = list(of_training(options.runs / "ppo"))
    evaluate(options, most=math.ceil(max(row["schedules"] for row in learned) / COUNT))
    draw(keep([*learned, *of_searches(options.runs / "searches")], options.out, table), options.picture)


def train(options: argparse.Namespace) -> None:
    """Train to the end, unless that is done."""
    use = f'[{{ use = "{PROGRAMS}" }}]'
    changes = [f"programs={use}", f"validation={use}", f"algorithm.episodes={EPISODES}"]
    changes += [f"run.iterations={options.iterations}", f"run.seed={options.seed}"]
    changes += [f"run.validate_every={VALIDATE_EVERY}", "run.checkpoint_every=1", "track.tensorboard=false"]
    changes += [f"run.standardize_steps={STANDARDIZE}", f"environment.count={options.jobs}"]
    words = [word for change in changes for word in ("--set", change)]
    burnish("train", CONFIG, "--out", str(options.runs / "ppo"), *words)


def evaluate(options: argparse.Namespace, most: int) -> None:
    """Run the searches to the end, unless that is done."""
    if len(read_rows(options.runs / "searches" / "rows.jsonl")) == COUNT * len(SEARCHES):
        return
    limits = ("--budget", f"{most} evaluations", "--seed", str(options.seed), "--jobs", str(options.jobs))
    chosen = ("--task", "mlir_schedules", "--objective", "seconds", "--methods", ",".join(SEARCHES))
    burnish("evaluate", PROGRAMS, *chosen, *limits, "--repeats", "3", "--out", str(options.runs / "searches"))


def of_training(run: Path) -> Iterator[dict[str, Any]]:
    """Yield the points of PPO's two curves."""
    validated = 0
    for row in read_log(run / LOG):
        schedules = int(row.get("episodes", 0)) + validated
        if "return" in row:
            yield {"method": DRAWN, "schedules": schedules, "ratio": math.exp(row["return"])}
        if SCORE in row:
            yield {"method": GREEDY, "schedules": schedules, "ratio": row[SCORE]}
            validated += COUNT


def of_searches(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the points of the searches' curves: the best so far of each program."""
    for method, title in SEARCHES.items():
        rows = [row for row in read_rows(folder / "rows.jsonl") if row.method == method]
        for evaluations in sorted({found for row in rows for _, found, _ in row.curve}):
            logs = [math.log(row.reference_cost / best_at(row, evaluations)) for row in rows]
            ratio = math.exp(math.fsum(logs) / len(logs))
            yield {"method": title, "schedules": COUNT * evaluations, "ratio": ratio}


def best_at(row: Row, evaluations: int) -> float:
    """Return the least cost after so many evaluations; before the first, the reference's."""
    return min([row.reference_cost, *(cost for _, found, cost in row.curve if found <= evaluations)])


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: the figure after some numbers of schedules of a program."""
    most = math.ceil(max(row["schedules"] for row in rows) / COUNT)
    columns = [*(number for number in SHOWN if number < most), most]
    lines = [line("schedules of a program", columns), "|---" * (1 + len(columns)) + "|"]
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        found = [[row["ratio"] for row in own if row["schedules"] <= number * COUNT] for number in columns]
        lines.append(line(method, [f"{ratios[-1]:.2f}" if ratios else "" for ratios in found]))
    return "\n".join(lines)


def line(name: str, values: Sequence[object]) -> str:
    return f"| {name} | {' | '.join(map(str, values))} |"


def draw(rows: Sequence[Mapping[str, Any]], picture: Path) -> None:
    """Draw the curves, on logarithmic axes."""
    mpl.rcParams["svg.hashsalt"] = "burnish"  # so that the same data give the same bytes
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}):
        figure = Figure(figsize=(7, 4), dpi=130, layout="constrained")
        axes = figure.subplots()
    for number, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        own = [row for row in rows if row["method"] == method]
        axes.plot(
            [max(row["schedules"], COUNT) / COUNT for row in own],
            [row["ratio"] for row in own],
            color=COLOURS[number],
            marker=MARKERS[number],
            markersize=3,
            linewidth=1.2,
            label=method,
        )
    axes.set(xlabel="measured schedules of a program", ylabel="naive schedule's time / schedule's")
    for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        scale("log")
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "25" else "")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_title("MLIR-RL's 17 programs, geometric mean", loc="left", size=10)
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
