"""Graphs of observations as networkx's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import MissingTool, UnknownName
from burnish.core.objective import GraphArrays
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.envs.env import Env
from burnish.envs.graphs import to_networkx

VIEWS = Path(__file__).parents[1] / "llvm/representations/data/views.ll"
GRAPH = GraphArrays(np.array([[1, 5], [0, 7]]), np.array([[0, 1, 1, 0], [0, 1, 0, 3], [1, 1, 0, 2]]))


def test_parallel_edges_and_loops_are_kept() -> None:
    pytest.importorskip("networkx")
    made = to_networkx(GRAPH, ("kind", "size"), ("control", "data"), "operand", ("first", "second"))
    assert dict(made.nodes(data=True)) == {
        0: {"kind": 1, "size": 5, "text": "first"},
        1: {"kind": 0, "size": 7, "text": "second"},
    }
    assert list(made.edges(data=True)) == [
        (0, 1, {"flow": "data", "operand": 0}),
        (0, 1, {"flow": "control", "operand": 3}),
        (1, 1, {"flow": "control", "operand": 2}),
    ]


def test_flows_without_names_are_numbers() -> None:
    pytest.importorskip("networkx")
    made = to_networkx(GRAPH, ("kind", "size"))
    assert "text" not in made.nodes[0]
    assert made.edges[0, 1, 0] == {"flow": 1, "position": 0}


def test_without_networkx_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingTool, match=r"networkx is not installed; pip install '\.\[train\]'"):
        to_networkx(GRAPH, ("kind", "size"))


@pytest.mark.usefixtures("nothing_left")
def test_an_environment_gives_the_same_graph_by_name() -> None:
    pytest.importorskip("networkx")
    env = Env(load_task("llvm_passes"), Program("views", "llvm", VIEWS.read_bytes()))
    env.reset(seed=0)
    calls, observed = env.networkx("callgraph"), env.observe("callgraph")
    assert [row["instructions"] for _, row in calls.nodes(data=True)] == observed.nodes[:, 1].tolist()
    assert calls.edges[4, 2, 0] == {"flow": "call", "calls": 2}
    assert {flow for _, _, flow in env.networkx("programl").edges(data="flow")} == {"control", "data", "call"}
    with pytest.raises(UnknownName, match="did you mean 'programl'"):
        env.networkx("programs")
    env.close()
