"""Overhead a shard of each engine: shards that compute for 1 ms, on two slots of this machine.

    python benchmarks/shards.py [--engines local,ray,submitit,slurm] [--shards 10000] [--check]

Overhead a shard = (seconds of the run * slots - seconds of work) / shards: what a slot spends on anything but
the shard's work. It includes the start of the engine's processes and jobs, so it falls with the number of
shards. The driver's share is the CPU time of the process that hands out shards and notes their results, a
shard. It limits the shards a second of many slots, see benchmarks/scaling.py.

- `local`: worker processes;
- `ray`: two nodes of one core each on this machine, and a head without cores; the nodes are there before;
- `submitit`: submitit's local executor, two jobs at a time;
- `slurm`: job arrays, two jobs at a time, if `sinfo` answers here.

Every shard appends its number to one file: so a shard that is done twice is seen, and so is one that is not
done. --check fails if a shard was not executed exactly once or has another value, or if Ray's overhead is
5 ms or more. --out gets rows.jsonl and table.txt.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from kit.busy import busy, executions
from kit.floors import verdict
from kit.kept import keep, show

from burnish import _native
from burnish.cluster.engine import Engine
from burnish.cluster.engines import open_engine
from burnish.cluster.run import run_shards
from burnish.cluster.shards import value_of
from burnish.workers.executor import Shard

ENGINES = "local,ray,submitit,slurm"
RESULTS = Path(__file__).parent / "results" / "shards"
SLOTS = 2
SHARD_SECONDS = 1e-3
SHARDS: Mapping[str, int] = {"local": 10_000, "ray": 10_000, "submitit": 10_000, "slurm": 2_000}
FLOOR_MS = 5.0  # of Ray's overhead a shard


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engines", default=ENGINES, help=f"default: {ENGINES}")
    parser.add_argument("--shards", type=int, help="of each engine; default: 10000, of slurm 2000")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rows", type=Path, help="print the table of these rows instead")
    options = parser.parse_args()
    if options.rows:
        show(options.rows, table)
        return
    names = [name for name in options.engines.split(",") if name != "slurm" or has_slurm()]
    # The processes of all engines import this benchmark's shards.
    os.environ["PYTHONPATH"] = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
    rows = keep((measure(name, options.shards or SHARDS[name]) for name in names), options.out, table)
    if options.check and (failures := [failure for row in rows for failure in failures_of(row)]):
        raise SystemExit("\n".join(failures))


def has_slurm() -> bool:
    """Return whether a SLURM cluster answers here."""
    return bool(shutil.which("sinfo")) and not subprocess.run(["sinfo"], capture_output=True).returncode


def measure(name: str, count: int) -> dict[str, Any]:
    """Return the row of an engine."""
    # Not in /tmp, where a job of SLURM may have a folder of its own.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as parent, opener(name) as opened:
        folder, log = Path(parent) / "run", Path(parent) / "log"
        shards = [Shard(f"s{i}", busy, (i, SHARD_SECONDS, str(log))) for i in range(count)]
        engine = opened(folder)
        begin, cpu = time.perf_counter(), time.process_time()
        ends = Counter(shard for shard, failure in run_shards(engine, folder, shards) if not failure)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        times, once = executions(log), Counter(shard.name for shard in shards)
        right = sum(value_of(folder, f"s{i}") == i * i for i in range(count) if f"s{i}" in ends)
    return {
        "engine": name,
        "shards": count,
        "slots": engine.slots,
        "seconds": wall,
        "overhead_ms": 1e3 * (wall * engine.slots / count - SHARD_SECONDS),
        "driver_ms": 1e3 * cpu / count,
        "lost": count - right,
        "twice": sum(n - 1 for n in times.values()) + (ends - once).total(),
        "cpu": _native.host_machine().cpu,
    }


@contextmanager
def opener(name: str) -> Iterator[Callable[[Path], Engine]]:
    """Yield a function that opens an engine's slots for a folder."""
    if name != "ray":
        yield partial(_open, name)
        return
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 0})
    try:
        for _ in range(SLOTS):
            cluster.add_node(**node)
        yield partial(_open, f"ray:{cluster.address}")
    finally:
        ray.shutdown()
        cluster.shutdown()


def _open(name: str, folder: Path) -> Engine:
    return open_engine(name, folder, {"slots": SLOTS})


def failures_of(row: Mapping[str, Any]) -> list[str]:
    """Return the claims that do not hold."""
    claims = {
        f"{row['lost']} shards have no value or a wrong one": row["lost"],
        f"{row['twice']} shards were executed again": row["twice"],
        f"an overhead of {row['overhead_ms']:.1f} ms a shard, expected less than {FLOOR_MS:g}": (
            row["engine"] == "ray" and row["overhead_ms"] >= FLOOR_MS
        ),
    }
    return [f"{row['engine']}: {text}" for text, fails in claims.items() if fails]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown."""
    lines = [
        "| engine | shards | slots | seconds | overhead, ms a shard | driver, ms a shard | lost | twice | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        numbers = f"{row['seconds']:.1f} | {row['overhead_ms']:.2f} | {row['driver_ms']:.2f}"
        counts = f"{row['lost']} | {row['twice']} | {verdict(not failures_of(row))}"
        lines.append(f"| {row['engine']} | {row['shards']:,} | {row['slots']} | {numbers} | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
