"""SLURM and nodes of Ray on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

from tests.conftest import children

needs_slurm = pytest.mark.skipif("not slurm_nodes()", reason="no SLURM runs here")
NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}


def pytest_markeval_namespace() -> dict[str, Any]:
    """Let conditions of marks ask for SLURM when a test begins: most runs select none of these tests."""
    return {"slurm_nodes": slurm_nodes}


@cache  # where no controller answers, sinfo takes ten seconds
def slurm_nodes() -> int:
    """Return the number of nodes of the SLURM that answers here; 0 if none does."""
    if not shutil.which("sinfo"):
        return 0
    listed = subprocess.run(["sinfo", "--noheader", "--Node"], capture_output=True, text=True)
    return 0 if listed.returncode else len(listed.stdout.splitlines())


class RayNodes:
    """A cluster of a head without cores, and nodes of one core each."""

    def __init__(self, count: int) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0})
        self._nodes: list[Any] = []
        for _ in range(count):
            self.add()
        self.name = f"ray:{self._cluster.address}"  # of the engine

    def add(self) -> None:
        self._nodes.append(self._cluster.add_node(**NODE))

    def kill(self) -> None:
        """Kill the last node with its workers, as if its machine had lost its power."""
        node = self._nodes.pop()
        raylet = node.all_processes["raylet"][0].process.pid
        for pid in (raylet, *children(raylet)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._cluster.remove_node(node, allow_graceful=False)  # what else it has, such as its log's reader

    def close(self) -> None:
        import ray

        ray.shutdown()
        self._cluster.shutdown()


@pytest.fixture
def ray_nodes() -> Iterator[RayNodes]:
    """Start two nodes of Ray, and end them."""
    pytest.importorskip("ray")
    nodes = RayNodes(2)
    yield nodes
    nodes.close()
