"""What to expect of more machines: a model of DD-PPO and of shards, by formulas and by simulation.

    python benchmarks/shards.py --engines ray
    python benchmarks/scaling.py [--check] [--out benchmarks/results/scaling] [--picture docs/scaling.svg]
    python benchmarks/scaling.py --costs benchmarks/results/scaling/costs.json --set latency=5e-4

Costs are measured on this machine, by the shipped dd-ppo on random programs of 40 to 4,000 instructions: the
times of steps, of a gradient step, of an all-reduce by gloo of 2 and 4 ranks. The driver's time and a
worker's overhead for a shard are from the rows of benchmarks/shards.py. --costs takes them from a file, and
--set changes one. A rank has a core.

The formulas are in many_machines/formulas.py, and many_machines/simulated.py draws each step and each shard.
--check fails where the two differ by more than 5 %. --out gets costs.json, rows.jsonl and table.txt.

With stragglers, each rank is ten times slower in 2 % of the iterations. With hundredfold steps, the 99th
percentile of a step's time is 100 times the first. Not in the model: validation, checkpoints, the questions
to the common store whether enough ranks are done, and a common disk.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from statistics import NormalDist
from typing import Any

import matplotlib as mpl
import numpy as np
from kit.kept import keep
from kit.shown import GRID
from many_machines import formulas, simulated
from many_machines.costs import Costs, changed, measure
from matplotlib.figure import Figure

from burnish.evaluation.report.plots import COLOURS, MARKERS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
WORKERS = (1, 2, 4, 10, 100, 1000)
LINE = tuple(sorted({round(10 ** (n / 20)) for n in range(61)}))  # numbers of workers
RANKS = 100_000  # that are simulated of each number of ranks
ITERATIONS = (40, 10_000)  # fewest and most that are simulated
HUNDREDFOLD = math.log(100) / (NormalDist().inv_cdf(0.99) - NormalDist().inv_cdf(0.01))  # sigma
STRAGGLERS = 0.02  # probability that a rank is ten times slower in an iteration
DIFFERENCE = 0.05
SHARDS = {"shards of 1 ms": 1e-3, "shards of 100 ms": 0.1, "shards of 10 s": 10.0}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--costs", type=Path, help="take the costs from this file instead of measuring them")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE: another cost", dest="changes")
    parser.add_argument("--shards", type=Path, default=RESULTS / "shards" / "rows.jsonl")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "scaling")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "scaling.svg")
    options = parser.parse_args()
    if options.costs:
        costs = Costs(**json.loads(options.costs.read_text()))
    else:
        costs, reduced = measure(options.shards)
        for count, seconds in reduced.items():
            print(f"all-reduce of {count}: {1e3 * seconds:.2f} ms, formula {reduce_ms(costs, count):.2f} ms")
    costs = changed(costs, options.changes)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "costs.json").write_text(json.dumps(asdict(costs), indent=1) + "\n")
    rows = keep(compared(costs), options.out, table)
    draw(costs, rows, options.picture)
    far = [row for row in rows if abs(difference(row)) > DIFFERENCE]
    if options.check and far:
        raise SystemExit(f"formula and simulation differ by more than {DIFFERENCE:.0%}:\n{table(far)}")


def reduce_ms(costs: Costs, ranks: int) -> float:
    """Return the milliseconds of an all-reduce by the formula."""
    return 1e3 * formulas.all_reduce(costs, ranks)


def trainings(costs: Costs) -> dict[str, Costs]:
    """Return the costs of the trainings that are compared, by title; pictures have the first five."""
    size, slow = costs.minibatch, replace(costs, stragglers=STRAGGLERS)
    hundredfold = replace(costs, step_sigma=HUNDREDFOLD, program_sigma=0.0)
    return {
        f"minibatch {size} a rank, preempt 0.6": costs,
        f"{size} a rank, preempt 1": replace(costs, preempt=1.0),
        f"{size} a rank, preempt 0.6, stragglers": slow,
        f"{size} a rank, preempt 1, stragglers": replace(slow, preempt=1.0),
        f"{size} of all ranks, preempt 0.6": replace(costs, of_all=True),
        f"{size} a rank, preempt 0.6, hundredfold": hundredfold,
        f"{size} a rank, preempt 1, hundredfold": replace(hundredfold, preempt=1.0),
    }


def compared(costs: Costs) -> Iterator[dict[str, Any]]:
    """Yield a row for each case and number of workers: the rate by the formula and by simulation."""
    for name, of in trainings(costs).items():
        for workers in WORKERS:
            model = formulas.iteration(of, workers)
            count = int(np.clip(RANKS // workers, *ITERATIONS))
            drawn = simulated.iteration(of, workers, count, np.random.default_rng(workers))
            rates = {"model": model.rate, "simulated": drawn.rate}
            yield {"case": name, "unit": "steps", "workers": workers, **rates, "seconds": asdict(model)}
    for name, seconds in SHARDS.items():
        for workers in WORKERS:
            drawn_rate = simulated.shards_a_second(costs, workers, seconds, np.random.default_rng(workers))
            rates = {"model": formulas.shards_a_second(costs, workers, seconds), "simulated": drawn_rate}
            yield {"case": name, "unit": "shards", "workers": workers, **rates}


def difference(row: Mapping[str, Any]) -> float:
    """Return the relative difference of the formula from the simulation."""
    return float(row["model"] / row["simulated"] - 1)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: rates a second, and the times of the rate of one worker."""
    lines = ["| case | workers | a second, formula | simulation | difference | times one worker |"]
    lines.append("|---" * 6 + "|")
    one = {row["case"]: row["model"] for row in rows if row["workers"] == 1}
    for row in rows:
        rates = " | ".join(f"{row[name]:,.4g}" for name in ("model", "simulated"))
        times = f"{row['model'] / one[row['case']]:,.3g}" if row["case"] in one else ""
        counts = f"{row['case']} | {row['workers']:,}"
        lines.append(f"| {counts} | {rates} | {difference(row):+.1%} | {times} |")
    return "\n".join(lines)


def draw(costs: Costs, rows: Sequence[Mapping[str, Any]], picture: Path) -> None:
    """Draw how many times faster than one worker the workers are: lines by formula, points by simulation."""
    steps = {
        name: [formulas.iteration(of, ranks).rate for ranks in LINE]
        for name, of in islice(trainings(costs).items(), 5)
    }
    shards = {
        name: [formulas.shards_a_second(costs, workers, seconds) for workers in LINE]
        for name, seconds in SHARDS.items()
    }
    mpl.rcParams["svg.hashsalt"] = "burnish"  # so that the same data give the same bytes
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9}):
        figure = Figure(figsize=(10, 5.4), dpi=130, layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
    left.set(xlabel="ranks", ylabel="times the rate of one")
    left.set_title("DD-PPO: steps a second", loc="left", size=10)
    right.set_xlabel("workers of one driver")
    right.set_title("Shards a second", loc="left", size=10)
    for axes, lines in ((left, steps), (right, shards)):
        axes.plot(LINE, LINE, "--", color="black", linewidth=0.9, label="ideal")
        for number, (name, rates) in enumerate(lines.items()):
            look = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 4.5}
            found = {row["workers"]: row["simulated"] / rates[0] for row in rows if row["case"] == name}
            axes.plot(LINE, [rate / rates[0] for rate in rates], color=COLOURS[number], linewidth=1.4)
            axes.plot(list(found), list(found.values()), linestyle="none", zorder=3, **look)
            axes.plot([], [], label=f"{name} (one: {rates[0]:,.3g})", **look)
        axes.set(xscale="log", yscale="log")
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.grid(color=GRID)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.12))
    figure.suptitle("More machines: lines by formula, points by simulation", size=11)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
