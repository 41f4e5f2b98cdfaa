"""Shards on two nodes of Ray: nothing is lost, nothing is done twice, whatever dies."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from burnish.cluster.engines import open_engine
from burnish.cluster.run import ShardProgress, run_shards
from burnish.cluster.shards import RESULTS, value_of
from burnish.workers.executor import Shard
from tests.cluster import work
from tests.cluster.conftest import RayNodes
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

DRIVER = """
import sys
from pathlib import Path
from tests.cluster.test_ray_cluster import run, slow_squares

if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), slow_squares(Path(sys.argv[2]), 1000, 0.01))
"""


def slow_squares(folder: Path, count: int, seconds: float) -> list[Shard]:
    """Return shards that leave a line each time they are executed."""
    log = str(folder / "log")
    return [Shard(f"s{number}", work.note, (log, number, seconds)) for number in range(count)]


def run(name: str, folder: Path, shards: list[Shard], kill: RayNodes | None = None) -> ShardProgress:
    """Do shards on two slots of an engine; when a tenth is done, kill a node in the middle of a batch."""
    seen, nodes = list[ShardProgress](), [kill] if kill else []

    def progress(now: ShardProgress) -> None:
        seen.append(now)
        if nodes and now.done >= len(shards) / 10 and len(before := by_process(folder)) > 1:
            wait_until(lambda: (by_process(folder) - before).keys() == before.keys())
            nodes.pop().kill()

    ends = list(run_shards(open_engine(name, folder, {"slots": 2}), folder, shards, progress=progress))
    assert Counter(ends) == Counter((shard.name, "") for shard in shards)
    return seen[-1]


def values(folder: Path, count: int) -> list[int]:
    return [value_of(folder, f"s{number}") for number in range(count)]


def notes(folder: Path) -> list[tuple[int, int]]:
    """Return the number and the process of each execution of a shard."""
    return [(int(number), int(process)) for number, process in map(str.split, (folder / "log").open())]


def executions(folder: Path) -> Counter[int]:
    return Counter(number for number, _ in notes(folder))


def by_process(folder: Path) -> Counter[int]:
    """Return the number of executions of each process."""
    return Counter(process for _, process in notes(folder))


def squares(count: int) -> list[int]:
    return [number * number for number in range(count)]


def test_two_nodes_do_every_shard_once(tmp_path: Path, ray_nodes: RayNodes) -> None:
    last = run(ray_nodes.name, tmp_path, slow_squares(tmp_path, 1000, 0.005))
    assert last == ShardProgress(1000, 1000, 0, 0, 0)
    assert values(tmp_path, 1000) == squares(1000)
    assert executions(tmp_path) == Counter(range(1000))
    assert len({process for _, process in notes(tmp_path)}) == 2


def test_a_node_that_is_killed_loses_no_shard(tmp_path: Path, ray_nodes: RayNodes) -> None:
    last = run(ray_nodes.name, tmp_path, slow_squares(tmp_path, 200, 0.04), kill=ray_nodes)
    assert (last.total, last.done, last.failed, last.resumed) == (200, 200, 0, 0)
    assert last.lost > 0
    assert values(tmp_path, 200) == squares(200)
    again = executions(tmp_path) - Counter(range(200))
    assert executions(tmp_path).keys() == set(range(200))
    assert again.total() <= 25 * last.lost  # the shards of a lost batch


def test_another_engine_goes_on_after_a_killed_driver(tmp_path: Path, ray_nodes: RayNodes) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, ray_nodes.name, str(tmp_path)])
    results = tmp_path / RESULTS
    wait_until(lambda: results.exists() and any(results.glob("*.json")), driver)
    driver.kill()
    driver.wait()
    there = {path.stem: path.stat().st_mtime_ns for path in results.glob("*.json")}
    last = run("local", tmp_path, slow_squares(tmp_path, 1000, 0.01))
    assert last == ShardProgress(1000, 1000, 0, len(there), 0)
    assert 0 < len(there) < 1000
    assert values(tmp_path, 1000) == squares(1000)
    times = executions(tmp_path)
    assert {times[int(name[1:])] for name in there} == {1}
    assert {name: (results / f"{name}.json").stat().st_mtime_ns for name in there} == there
