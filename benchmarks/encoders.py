"""What a policy sees of a program: encoders by equal steps and by equal time, on projects not trained on.

    burnish corpus build
    python benchmarks/encoders.py [--seconds 240] [--seeds 3] [--runs FOLDER]
                                  [--out benchmarks/results/encoders] [--picture docs/encoders.svg]

Each run is `burnish train ppo-graph` with another observation and network, on one core; as many run at a time
as the machine has cores. All policies then optimize programs of the test split, small ones as in training, by
one greedy rollout; those of the first seed, and searches without a policy, have a second of search, too. What
--runs has already is not repeated; what was stopped resumes. --out gets curves.jsonl, a row for each
validation, means.jsonl, a row for each method and budget, and table.txt.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, mean
from typing import Any

import matplotlib as mpl
from kit.commands import burnish, evaluate, of_all
from kit.shown import GRID
from matplotlib.figure import Figure

from burnish.core.registry import load_task
from burnish.evaluation.report.plots import COLOURS, DASHES
from burnish.learning.training.chosen_programs import choose
from burnish.learning.training.config import Source
from burnish.learning.training.track import LOG, read_log
from burnish.learning.training.validation import SCORE

ROOT = Path(__file__).parents[1]
OBJECTIVES = ("ir-instructions", "loaded-bytes")
PERCEPTRON = '{kind="mlp", hidden=[256, 256]}'
GRAPH = 'width=32, layers=2, pool="attention"'
ENCODERS = {  # the observation, and the network that reads it
    "counts of opcodes": ('"opcode-counts"', PERCEPTRON),
    "Autophase": ('"autophase"', PERCEPTRON),
    "IR2Vec": ('"ir2vec"', PERCEPTRON),
    "sequence, LSTM": ('"tokens"', '{kind="lstm", width=64, length=256}'),
    "graph, GATv2": ('"programl"', f'{{kind="gatv2", heads=4, {GRAPH}}}'),
    "graph, GINE": ('"programl"', f'{{kind="gine", {GRAPH}}}'),
    "GINE and Autophase": (
        '["programl", "autophase"]',
        f'{{kind="mixture", parts={{programl={{kind="gine", {GRAPH}}}, autophase={PERCEPTRON}}}}}',
    ),
}
EQUAL = {  # of all runs
    "algorithm.steps": "90",
    "algorithm.epochs": "4",
    "algorithm.minibatch": "128",
    "algorithm.learning_rate": "6e-4",
    "environment.count": "2",
    "run.threads": "1",
    "run.iterations": "1000000",
    "run.patience": "1000000",
    "run.validate_every": "10",
    "track.tensorboard": "false",
}
SEARCHES = ("random", "genetic", "mixed")
ONCE, SEARCHED = "2", "1s"  # budgets: the reference and a greedy rollout; a second of search
Rows = Sequence[Mapping[str, Any]]
Run = tuple[str, str, int]
"""The objective, the encoder and the seed of a training."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=240.0, help="of each training")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sample", type=int, default=24, help="programs of the test split")
    parser.add_argument("--largest", type=int, default=1000, help="of these, in instructions")
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=list(ENCODERS), metavar="NAME")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "encoders")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "encoders")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "encoders.svg")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    runs: list[Run] = list(product(OBJECTIVES, options.encoders, range(options.seeds)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for trained in pool.map(partial(train, seconds=options.seconds, runs=options.runs), runs):
            print(f"trained: {trained}", flush=True)
    curves = [row for run in runs for row in validations(*run, options.runs)]
    means = [row for objective in OBJECTIVES for row in held_out(objective, options)]
    options.out.mkdir(parents=True, exist_ok=True)
    for name, rows in (("curves", curves), ("means", means)):
        (options.out / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    text = "\n\n".join(table(objective, curves, means) for objective in OBJECTIVES)
    (options.out / "table.txt").write_text(f"{text}\n")
    print(text)
    draw(curves, options.picture)


def folder_of(objective: str, encoder: str, seed: int, runs: Path) -> Path:
    return runs / f"{objective} {encoder} {seed}".replace(", ", "-").replace(" ", "-")


def train(run: Run, seconds: float, runs: Path) -> str:
    """Train to the end, unless that is done; return the run's name."""
    objective, encoder, seed = run
    folder = folder_of(objective, encoder, seed, runs)
    observation, network = ENCODERS[encoder]
    own = {
        "objective": objective,
        "environment.observation": observation,
        "network": network,
        "run.seconds": str(seconds),
        "run.seed": str(seed),
    }
    if not policy(folder):
        changes = [word for key, value in (EQUAL | own).items() for word in ("--set", f"{key}={value}")]
        burnish("train", "ppo-graph", *changes, "--out", str(folder), "--quiet", capture=True)
        # An evaluation names a method by its policy's file, so each needs a name of its own.
        made = next(path for path in folder.glob("policy.*") if path.suffix in (".npz", ".onnx"))
        shutil.copy(made, runs / f"{folder.name}{made.suffix}")
    return folder.name


def policy(folder: Path) -> Path | None:
    """Return the copy of a run's policy; None before the run has ended."""
    copies = (folder.with_name(f"{folder.name}{suffix}") for suffix in (".npz", ".onnx"))
    return next((path for path in copies if path.exists()), None)


def validations(objective: str, encoder: str, seed: int, runs: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each validation of a run."""
    for row in read_log(folder_of(objective, encoder, seed, runs) / LOG):
        if SCORE in row:
            kept = {key: row.get(key, 0) for key in ("steps", "seconds", SCORE)}
            yield {"objective": objective, "encoder": encoder, "seed": seed} | kept


def held_out(objective: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the mean of each method and budget on the test split's programs."""
    encoders = {
        str(policy(folder_of(objective, encoder, seed, options.runs))): (encoder, seed)
        for encoder, seed in product(options.encoders, range(options.seeds))
    }
    guided = [f"genetic@{path}" for path in encoders]
    source = Source("corpus:test", count=options.sample, smallest=50, largest=options.largest, even=True)
    programs = [
        f"corpus:{program.name}" for program in choose([source], "programs", load_task("llvm_passes"))
    ]
    words = (*programs, "--jobs", str(os.cpu_count()))
    first = [method for method, (_, seed) in zip(guided, encoders.values(), strict=True) if seed == 0]
    for budget, methods in ((ONCE, guided), (SEARCHED, [*SEARCHES, "mixed@shipped", *first])):
        folder = options.runs / f"{objective}-{budget}"
        for row in of_all(evaluate(folder, methods, "--objective", objective, "--budget", budget, *words)):
            path = row["method"].partition("@")[2]
            encoder, seed = encoders.get(path, (row["method"], 0))
            where = {"objective": objective, "budget": budget, "encoder": encoder, "seed": seed}
            reached = {key: row["unguarded"][key] for key in ("ratio", "low", "high")}
            yield where | reached | {key: row[key] for key in ("seconds", "failures")}


def best(rows: Rows, key: str, limit: float = math.inf) -> float:
    """Return the best score of a run's validations while `key`, its steps or seconds, is within the limit."""
    return max(float(row[SCORE]) for row in rows if row[key] <= limit)


def by_seed(rows: Rows, **wanted: str) -> list[Rows]:
    """Return the rows that have the wanted values, a list for each seed."""
    chosen = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return [
        [row for row in chosen if row["seed"] == seed] for seed in sorted({row["seed"] for row in chosen})
    ]


def table(objective: str, curves: Rows, means: Rows) -> str:
    """Return the table of an objective, as Markdown: the reference's cost / the policy's, over the seeds."""
    encoders = dict.fromkeys(row["encoder"] for row in curves)
    runs = {name: by_seed(curves, objective=objective, encoder=name) for name in encoders}
    equal = min(run[-1]["steps"] for seeds in runs.values() for run in seeds)
    title = f"{objective}: -Oz / policy; validation programs, then programs of the test split"
    after = f"{equal:,.0f} steps"
    names = "sees", "steps", after, "same time", "one rollout", "seconds", "a second of search"
    lines = [title, "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for name, seeds in runs.items():
        steps = f"{mean(run[-1]['steps'] for run in seeds):,.0f}"
        scores = (spread([best(run, "steps", limit) for run in seeds]) for limit in (equal, math.inf))
        lines.append(f"| {' | '.join((name, steps, *scores, *reached(objective, name, means)))} |")
    for name in dict.fromkeys(row["encoder"] for row in means if row["encoder"] not in encoders):
        lines.append(f"| none: `{name}` | | | | {' | '.join(reached(objective, name, means))} |")
    return "\n".join(lines)


def reached(objective: str, name: str, means: Rows) -> tuple[str, str, str]:
    """Return the cells of test programs: the ratio of one rollout, its seconds, the ratio of a search."""
    once, searched = (
        [row for rows in by_seed(means, objective=objective, encoder=name, budget=budget) for row in rows]
        for budget in (ONCE, SEARCHED)
    )
    seconds = f"{fmean(row['seconds'] for row in once):.2f}" if once else ""
    return spread([row["ratio"] for row in once]), seconds, spread([row["ratio"] for row in searched])


def spread(values: Sequence[float]) -> str:
    """Write the geometric mean of the seeds' ratios, and the least and the largest one."""
    if not values:
        return ""
    middle = math.exp(fmean(map(math.log, values)))
    return f"{middle:.3f}" + (f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else "")


def draw(curves: Rows, picture: Path) -> None:
    """Draw the mean over seeds of the best score so far, against steps and against seconds."""
    mpl.rcParams["svg.hashsalt"] = "burnish"  # so that the same data give the same bytes
    encoders = dict.fromkeys(row["encoder"] for row in curves)
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}):
        figure = Figure(figsize=(8, 6.5), dpi=130, layout="constrained")
        panels = figure.subplots(2, 2, sharey="row")
    for line, (objective, key) in zip(panels.flat, product(OBJECTIVES, ("steps", "seconds")), strict=True):
        for encoder, colour, dashes in zip(encoders, COLOURS, DASHES, strict=False):
            seeds = by_seed(curves, objective=objective, encoder=encoder)
            first = max(run[0][key] for run in seeds)
            last = min(run[-1][key] for run in seeds)
            places = [first + (last - first) * part / 60 for part in range(61)]
            scores = [fmean(best(run, key, place) for run in seeds) for place in places]
            line.plot(places, scores, color=colour, linestyle=dashes, linewidth=1.4, label=encoder)
        line.set_title(f"{objective}, by {key}", loc="left", size=9)
        line.set_ylim(bottom=0.9)  # untrained policies are far below
        line.grid(color=GRID)
        line.set_axisbelow(True)
    for axes in panels[-1]:
        axes.set_xlabel(f"{'steps' if axes is panels[-1][0] else 'seconds'} of training")
    for axes in panels[:, 0]:
        axes.set_ylabel("-Oz / best policy so far")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
