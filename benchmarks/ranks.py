"""Steps a second of DD-PPO on 1, 2 and 4 ranks of this machine, and on 1 and 2 nodes of Ray.

    python benchmarks/ranks.py [--rounds 3] [--iterations 12] [--out benchmarks/results/ranks]

The training is the shipped dd-ppo on random programs of 40 to 4,000 instructions, with four environments a
rank and a minibatch that grows with the ranks. The ways take turns. The first two iterations of a run do not
count, nor do validations. A rank has a core, and so has a node of Ray; where there are fewer cores than
ranks, the ranks share them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from actors import training
from kit.cores import on_cores
from kit.kept import keep

from burnish.cluster.engine import Engine
from burnish.cluster.engines import open_engine
from burnish.cluster.local import LocalEngine
from burnish.cluster.ranks import train_on
from burnish.learning.training.config import Config, config_of
from burnish.learning.training.loop import IterationProgress, Listener

ROOT = Path(__file__).parents[1]
FIRST = 2  # iterations that do not count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "ranks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = training("dd-ppo", Path(folder))
        keep(rates(config, options.rounds, options.iterations), options.out, table)


def rates(config: Config, rounds: int, iterations: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each round and way."""
    for number in range(rounds):
        for ranks in (1, 2, 4):
            with on_cores(ranks):
                found = rate(partial(LocalEngine, processes=ranks), ranked(config, ranks, iterations))
            yield {"round": number, "where": "local", "ranks": ranks, "rate": found}
        for nodes in (1, 2):
            with on_cores(nodes), ray_nodes(nodes) as opened:
                found = rate(opened, ranked(config, nodes, iterations), everywhere=True)
            yield {"round": number, "where": f"ray, {nodes} nodes", "ranks": nodes, "rate": found}


def rate(opened: Callable[[Path], Engine], config: Config, *, everywhere: bool = False) -> float:
    """Return the median of the steps a second of the iterations that count."""
    seen: list[float] = []

    def note(progress: IterationProgress) -> None:
        if progress.row["iteration"] > FIRST:
            seen.append(float(progress.row["steps_per_second"]))

    with tempfile.TemporaryDirectory() as folder:
        address = "" if everywhere else "127.0.0.1"
        train_on(opened, config, Path(folder) / "run", Listener(note), address=address)
    return median(seen)


def ranked(config: Config, ranks: int, iterations: int) -> Config:
    """Return the training on so many ranks."""
    table = config.to_dict()
    table["algorithm"] |= {"minibatch": 256 * ranks}
    table["run"] |= {"iterations": iterations + FIRST, "validate_every": 1000, "standardize_steps": 60}
    table["track"] = {"tensorboard": False}
    return config_of(table, "ranks")


@contextmanager
def ray_nodes(count: int) -> Iterator[Callable[[Path], Engine]]:
    """Start nodes of Ray with a core each; yield the function that opens an engine on them."""
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 0})
    for _ in range(count):
        cluster.add_node(**node)
    options = {"slots": count, "scheduling_strategy": "SPREAD"}
    try:
        yield lambda folder: open_engine(f"ray:{cluster.address}", folder, options)
    finally:
        ray.shutdown()
        cluster.shutdown()


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table, as Markdown: medians of the rounds, and their ratios to one local rank."""
    found: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        found.setdefault((row["where"], row["ranks"]), []).append(row["rate"])
    one = median(found["local", 1])
    lines = [f"| where ({len(os.sched_getaffinity(0))} cores) | ranks | steps a second | times one rank |"]
    lines.append("|---" * 4 + "|")
    for (where, ranks), values in found.items():
        lines.append(f"| {where} | {ranks} | {median(values):,.0f} | {median(values) / one:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
