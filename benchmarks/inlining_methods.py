"""Quality of inlining policies over training time, by method, on validation modules; the heuristic is 1.0.

    burnish train inlining-credit                      # then inlining-ppo and so on, which begin there
    python benchmarks/inlining_methods.py runs/* --held-out corpus:test    # table.txt, curves.svg, rows.jsonl

The time is that of one training process and its workers, including validation. Intervals are for the mean of
the best policy as exported, over resampled modules. Validation chose that policy; held-out modules did not.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.evaluation.against import Against, summary_of
from burnish.evaluation.intervals import bootstrap_interval
from burnish.learning.training.chosen_programs import choose
from burnish.learning.training.config import Source
from burnish.policies.answer import answers_of
from burnish.tasks.llvm_inlining.policy.policies import against_heuristic

RESULTS = Path(__file__).parent / "results" / "inlining_methods"
SCORE = "validation/ratio"
CONFIDENCE = 0.95
Ratios = Mapping[str, float]
"""Heuristic / policy, by module."""


def curve(run: Path) -> list[dict[str, float]]:
    """Return the rows of a run's log in which a policy was validated."""
    rows = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [row for row in rows if row.get(SCORE, 0) > 0]


def ratios_of(run: Path) -> Ratios:
    """Return the ratios in the card of a run's exported policy; an empty mapping without a card."""
    path = run / "policy.card.json"
    return json.loads(path.read_text()).get("ratios", {}) if path.exists() else {}


def held_out(run: Path, programs: Sequence[Program]) -> list[Against]:
    """Compile the modules in which LLVM asks with a run's exported policy; without one, return nothing."""
    path = run / "policy.npz"
    if not path.exists():
        return []
    task = load_task("llvm_inlining")
    return list(against_heuristic(task, programs, answers_of(path, task), "loaded-bytes"))


def interval(ratios: Ratios) -> str:
    """Return the interval of the geometric mean over modules; "" for fewer than two modules."""
    if len(ratios) < 2:
        return ""
    logs = [math.log(ratio) for ratio in ratios.values()]
    ends = bootstrap_interval(logs, [(value, value) for value in logs], CONFIDENCE, seed=0)
    return "[{:.4f}, {:.4f}]".format(*map(math.exp, ends))


def table(
    curves: dict[str, list[dict[str, float]]],
    ratios: Mapping[str, Ratios],
    unseen: Mapping[str, Sequence[Against]] | None = None,
) -> str:
    """Return a line for each run: the best and the last policy, the time of the best, held-out modules."""
    unseen = unseen or {}
    first = f"{'run':12} {'best':>8} {f'{CONFIDENCE:.0%} interval':>18}"
    lines = [f"{first} {'after s':>8} {'last':>8} {'total':>8} {'better':>7} {'worse':>7}"]
    if unseen:
        lines[0] += f" {'held out':>9} {f'{CONFIDENCE:.0%} interval':>18} {'better':>7} {'worse':>7}"
    for name, rows in sorted(curves.items(), key=lambda item: -max(row[SCORE] for row in item[1])):
        best = max(rows, key=lambda row: row[SCORE])
        shares = (best["validation/total_ratio"], best["validation/better"], best["validation/worse"])
        sure = interval(ratios.get(name, {}))
        numbers = f"{best[SCORE]:8.4f} {sure:>18} {best['seconds']:8.0f} {rows[-1][SCORE]:8.4f}"
        lines.append(f"{name:12} {numbers} {shares[0]:8.4f} {shares[1]:7.0%} {shares[2]:7.0%}")
        if found := unseen.get(name):
            whole = summary_of(found)
            sure = f"[{whole.low:.4f}, {whole.high:.4f}]"
            lines[-1] += f" {whole.ratio:9.4f} {sure:>18} {whole.better:7} {whole.worse:7}"
    return "\n".join(lines)


def picture(curves: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Draw the ratio over the minutes of training."""
    mpl.rcParams["svg.hashsalt"] = "burnish"  # so that the same data give the same bytes
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.axhline(1.0, color="black", linewidth=0.8)
    for name, rows in curves.items():
        minutes = [row["seconds"] / 60 for row in rows]
        axes.plot(minutes, [row[SCORE] for row in rows], marker=".", label=name)
    axes.set(xlabel="minutes of training", ylabel="loaded bytes, heuristic / policy")
    axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Write the table, the picture and the rows of some runs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--held-out", nargs="+", default=[], metavar="PROGRAMS", help="such as corpus:test")
    parser.add_argument("--largest", type=int, default=8000, help="IR instructions of a held-out module")
    options = parser.parse_args()
    curves = {run.name: rows for run in options.runs if (rows := curve(run))}
    options.out.mkdir(parents=True, exist_ok=True)
    ratios = {run.name: ratios_of(run) for run in options.runs}
    sources = [Source(use, largest=options.largest) for use in options.held_out]
    programs = list(choose(sources, "held-out", load_task("llvm_inlining"))) if sources else []
    unseen = {run.name: held_out(run, programs) for run in options.runs} if programs else {}
    text = table(curves, ratios, unseen)
    (options.out / "table.txt").write_text(f"{text}\n")
    lines = [json.dumps({"run": name, **row}) for name, rows in curves.items() for row in rows]
    lines += [
        json.dumps(
            {
                "run": name,
                "ratios": ratios[name],
                "held_out": {one.program: one.ratio for one in unseen.get(name, ())},
            }
        )
        for name in curves
    ]
    (options.out / "rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
    picture(curves, options.out / "curves.svg")
    print(text)


if __name__ == "__main__":
    main()
