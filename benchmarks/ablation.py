"""Ablation of trained policies: features, graphs or both, by algorithm; and searches with shipped policies.

    python benchmarks/ablation.py --seconds 300 [--output benchmarks/results/ablation.json]

Action policies are trained on the same programs for the same time, one after the other, on all cores.
Each of them then optimizes validation programs of unseen projects: by the policy alone (its greedy roll-out),
and by a genetic search that it guides, at the short budget. An interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

from kit.commands import burnish, evaluate, of_all
from rich.console import Console
from rich.table import Table

from burnish.console.numbers import ratio_text

FOUND = Path(__file__).parent / "results" / "sequences" / "found.jsonl"

CONFIG = """\
description = "ablation: {name}"

[algorithm]
{algorithm}
{expert}
[[programs]]
use = "corpus:train"
smallest = 20
largest = 600

[[validation]]
use = "corpus:val"
count = 24
largest = 1500
even = true

[environment]
observation = {observation}
max_steps = 15
count = 2

[network]
{network}
[run]
seconds = {seconds}
threads = 2
validate_every = {every}
checkpoint_every = {every}
"""

PPO = """\
name = "ppo"
steps = 90
epochs = 4
minibatch = 128
learning_rate = 6e-4
entropy_coefficient = 0.003
target_kl = 0.02"""
OFF_POLICY = """\
name = "{}"
steps = 45
updates_per_step = 0.5
batch = 128
capacity = 30_000
learning_starts = 1_000"""
CLONING = """\
name = "cloning"
batch_size = 256
dropout = 0.2
label_smoothing = 0.05
weighting = "gain"
"""
EVOLUTION = 'name = "evolution"'
FEATURES = '["autophase", "opcode-counts"]', 'kind = "mlp"\nhidden = [256, 256]\n'
GRAPHS = '"programl"', 'kind = "gatv2"\nwidth = 32\nlayers = 2\nheads = 4\npool = "attention"\n'
BOTH = (
    '["programl", "autophase", "opcode-counts"]',
    """\
kind = "mixture"
width = 128
[network.parts.programl]
kind = "gatv2"
width = 32
layers = 2
[network.parts.autophase]
kind = "mlp"
hidden = [128]
[network.parts.opcode-counts]
kind = "mlp"
hidden = [128]
""",
)
TRAINED = {
    "ppo-features": (PPO, FEATURES),
    "ppo-graphs": (PPO, GRAPHS),
    "ppo-both": (PPO, BOTH),
    "sac-features": (OFF_POLICY.format("sac"), FEATURES),
    "dqn-features": (OFF_POLICY.format("dqn") + "\nn_step = 3", FEATURES),
    "evolution-features": (EVOLUTION, FEATURES),
    "cloning-features": (CLONING, FEATURES),
    "cloning-graphs": (CLONING, GRAPHS),
}
SUFFIXES = (".npz", ".onnx")
SEARCHES = ("random", "genetic", "mixed", "genetic@shipped", "mixed@shipped")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="of training, each")
    parser.add_argument("--sample", type=int, default=60, help="validation programs")
    parser.add_argument("--out", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    policies = {name: trained(name, options.out, options.seconds) for name in TRAINED}
    alone = evaluated(options, "alone", [f"genetic@{path}" for path in policies.values()], "2")
    guided = evaluated(
        options, "short", [*SEARCHES, *(f"genetic@{path}" for path in policies.values())], "short"
    )
    trainings = {name: training(options.out / name, path) for name, path in policies.items()}
    if options.output:
        made = {"seconds": options.seconds, "trained": trainings, "alone": alone, "short": guided}
        options.output.write_text(json.dumps(made, indent=1) + "\n")
    table(trainings, alone, guided)


def trained(name: str, out: Path, seconds: float) -> Path:
    """Train a policy, unless its file exists, and return the file, which has the policy's name."""
    if there := [out / f"{name}{suffix}" for suffix in SUFFIXES if (out / f"{name}{suffix}").exists()]:
        return there[0]
    algorithm, (observation, network) = TRAINED[name]
    cloned = name.startswith("cloning")
    config = out / f"{name}.toml"
    config.write_text(
        CONFIG.format(
            name=name,
            algorithm=algorithm,
            expert=f'\n[expert]\ndemonstrations = "{FOUND}"\n' if cloned else "",
            observation=observation,
            network=network,
            seconds=seconds,
            every=1 if cloned else 10,
        )
    )
    burnish("train", str(config), "--out", str(out / name))
    (made,) = [path for path in (out / name).glob("policy.*") if path.suffix in SUFFIXES]
    return Path(shutil.copy(made, out / f"{name}{made.suffix}"))


def training(run: Path, policy: Path) -> dict[str, Any]:
    """Return a policy's training figures and best validation from its card, and its size in bytes."""
    card = json.loads((run / "policy.card.json").read_text())
    said = {key: card["training"][key] for key in ("seconds", "steps", "iterations", "ended")}
    return said | {"bytes": policy.stat().st_size, "validation/ratio": card["results"]["validation/ratio"]}


def table(
    trainings: dict[str, dict[str, Any]], alone: list[dict[str, Any]], guided: list[dict[str, Any]]
) -> None:
    """Print each training's cost and the ratios reached: ir-instructions of -Oz / those of the method."""
    reached = {item["method"]: item["unguarded"]["ratio"] for item in of_all(alone)}
    shown = Table("method", "trained, s", "steps", "validation", "one try", "short [95 %]", "+ = -")
    for item in of_all(guided):
        made = trainings.get(Path(item["method"].partition("@")[2]).stem)
        cells = (
            [f"{made['seconds']:.0f}", f"{made['steps']}", f"{made['validation/ratio']:.4f}"]
            if made
            else [""] * 3
        )
        once = f"{reached[item['method']]:.4f}" if item["method"] in reached else ""
        mean = item["unguarded"]
        interval = ratio_text(mean["ratio"], mean["low"], mean["high"])
        shown.add_row(
            item["method"], *cells, once, interval, f"{item['wins']} {item['ties']} {item['losses']}"
        )
    Console(width=200).print(shown)


def evaluated(
    options: argparse.Namespace, name: str, methods: list[str], budget: str
) -> list[dict[str, Any]]:
    """Evaluate methods on validation programs and return the rows of `burnish evaluate --json`."""
    words = ("--split", "val", "--sample", str(options.sample), "--jobs", str(os.cpu_count()))
    return evaluate(options.out / name, methods, "--budget", budget, *words)


if __name__ == "__main__":
    main()
