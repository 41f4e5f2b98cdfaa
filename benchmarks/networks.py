"""Time of a policy to choose an action, and the size of its file, by encoder.

    python benchmarks/networks.py [--rounds 9] [--threads 1] [--output benchmarks/results/networks.json]

Programs are random modules of about 100, 1,000 and 10,000 IR instructions. Policies have the default sizes,
all passes, a factorised head and a shared critic. The median times are printed: of the observation, and of
the choice of one action by torch and by the exported file (numpy for perceptrons, onnxruntime for the
others).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from burnish.envs.env import Env
from burnish.learning.agents.export import export_policy
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.build_encoder import build_encoder
from burnish.llvm.corpora.random_modules import random_module
from burnish.policies.choose import choose
from burnish.policies.load import load_action_policy
from burnish.policies.onnx import load_onnx
from burnish.tasks.llvm_passes import TASK

SIZES = (100, 1_000, 10_000)
NETWORKS: dict[str, tuple[dict[str, Any], Any]] = {
    "mlp": ({"kind": "mlp"}, "autophase"),
    "lstm": ({"kind": "lstm"}, "trace"),
    "transformer": ({"kind": "transformer"}, "tokens"),
    "gine": ({"kind": "gine"}, "programl"),
    "gatv2": ({"kind": "gatv2"}, "programl"),
    "mixture": (
        {
            "kind": "mixture",
            "parts": {"programl": {"kind": "gatv2"}, "autophase": {}, "trace": {"kind": "transformer"}},
        },
        ["programl", "autophase", "trace"],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    print(f"{'network':12}{'size':>8}{'file':>9}{'observe':>10}{'torch':>10}{'exported':>10}")
    for name, (table, observation) in NETWORKS.items():
        for size in SIZES:
            row = {"network": name, **measure(table, observation, size, options.rounds, options.threads)}
            rows.append(row)
            print(
                f"{name:12}{row['instructions']:>8}{row['file_bytes'] / 1e6:>6.2f} MB"
                + "".join(f"{row[key] * 1e3:>7.2f} ms" for key in ("observe", "torch", "exported")),
                flush=True,
            )
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")


def measure(table: dict[str, Any], observation: Any, size: int, rounds: int, threads: int) -> dict[str, Any]:
    """Measure one network on one module."""
    env = Env(TASK, random_module(1, size), observation=observation, limits=None)
    observed, info = env.reset()
    masks = info["mask"][None]
    torch.manual_seed(0)
    policy = Policy(build_encoder(table, TASK, observation), TASK.actions, head="factorised")
    with tempfile.TemporaryDirectory() as folder:
        path = export_policy(policy, Path(folder))
        exported = load_onnx(path, threads) if path.suffix == ".onnx" else load_action_policy(path)
        file_bytes = path.stat().st_size
    names = [observation] if isinstance(observation, str) else observation
    row = {
        "instructions": int(env.session.cost("ir-instructions")),
        "file_bytes": file_bytes,
        "observe": median(lambda: [env.session.observe(name) for name in names], rounds),
        "torch": median(lambda: policy.act([observed], masks), rounds),
        "exported": median(lambda: choose(exported.log_probs([observed], masks)), rounds),
    }
    assert np.array_equal(policy.act([observed], masks), choose(exported.log_probs([observed], masks)))
    env.close()
    return row


def median(what: Callable[[], Any], rounds: int) -> float:
    """Return the median seconds of a call, after one unmeasured call."""
    what()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        what()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
