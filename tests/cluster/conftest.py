"""Nodes of Ray on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}


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
        """Kill the last node, as if its machine had lost its power."""
        self._cluster.remove_node(self._nodes.pop(), allow_graceful=False)

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
