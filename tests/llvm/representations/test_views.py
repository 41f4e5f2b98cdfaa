"""The graphs of blocks and of functions, and how they hang together with the program graph."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.core.errors import MissingTool, ProgramError
from burnish.core.program import Program
from burnish.llvm.representations.graph import (
    FLOWS,
    KINDS,
    ProgramGraph,
    block_graph,
    call_graph,
    program_graph,
)
from tests.sources import FILES, program

DATA = Path(__file__).parent / "data"
INSTRUCTION, VARIABLE, CONSTANT, _ = range(len(KINDS))
CONTROL, DATA_FLOW, CALL, _ = range(len(FLOWS))


@pytest.fixture
def views() -> _native.Module:
    return _native.Module((DATA / "views.ll").read_bytes())


def test_blocks_and_their_edges(views: _native.Module) -> None:
    graph = block_graph(views)
    assert graph.columns == ("function", "instructions", "phis", "loads", "stores", "calls", "loop_depth")
    assert graph.nodes.tolist() == [
        [2, 2, 0, 0, 0, 0, 0],  # leaf: the intrinsic is no call
        [3, 1, 0, 0, 0, 0, 0],  # never
        [4, 1, 0, 0, 0, 0, 0],  # entry
        [4, 4, 2, 0, 0, 0, 1],  # head
        [4, 9, 0, 1, 1, 3, 1],  # body
        [4, 2, 0, 0, 0, 1, 0],  # exit
    ]
    assert graph.edges.tolist() == [
        [2, 3, CONTROL, 0],
        [3, 4, CONTROL, 0],
        [3, 5, CONTROL, 1],
        [4, 3, CONTROL, 0],
    ]


def test_functions_and_their_calls(views: _native.Module) -> None:
    graph = call_graph(views)
    assert graph.columns == ("kind", "instructions", "blocks", "local")
    assert graph.node_texts() == ["[external]", "outside", "leaf", "never", "sum"]
    assert graph.nodes.tolist() == [[0, 0, 0, 0], [2, 0, 0, 0], [1, 2, 1, 1], [1, 1, 1, 1], [1, 17 - 1, 4, 0]]
    assert graph.edges.tolist() == [
        [0, 4, CALL, 0],  # sum is visible outside
        [4, 2, CALL, 2],  # leaf, twice
        [4, 1, CALL, 1],
        [4, 0, CALL, 1],  # through %f
    ]


def test_networkx_has_names(views: _native.Module) -> None:
    graph = program_graph(views).to_networkx()
    assert graph.nodes[0] == {"kind": 0, "token": 1, "function": 0, "block": -1, "text": "[external]"}
    calls = call_graph(views).to_networkx()
    assert calls.edges[4, 2, 0] == {"flow": "call", "calls": 2}
    blocks = block_graph(views).to_networkx()
    assert blocks.nodes[4]["loop_depth"] == 1
    assert blocks.edges[3, 5, 0] == {"flow": "control", "position": 1}


def test_torch_geometric_has_the_same_numbers(views: _native.Module) -> None:
    graph = program_graph(views, types=True)
    data = graph.to_torch_geometric()
    data.validate()
    assert (data.x.numpy() == graph.nodes).all()
    assert (data.edge_index.numpy() == graph.edges[:, :2].T).all()
    assert (data.edge_attr.numpy() == graph.edges[:, 2:]).all()


@pytest.mark.parametrize(
    ("package", "convert"),
    [("networkx", ProgramGraph.to_networkx), ("torch_geometric.data", ProgramGraph.to_torch_geometric)],
)
def test_missing_package_is_named_with_its_remedy(
    package: str,
    convert: Callable[[ProgramGraph], object],
    views: _native.Module,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingTool, match=r"not installed; pip install '\.\[train\]'"):
        convert(call_graph(views))


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"broken: line 1: .*"):
        program_graph(Program("broken", "llvm", b"define"))


def opened(name: str, level: str) -> _native.Module:
    """Return a real module, as the front end leaves it (level "") or optimized."""
    module = _native.Module(program(name).content)
    if level:
        module.run(f"clang<{level}>", level)
    return module


@pytest.mark.parametrize("level", ["", "O2"])
@pytest.mark.parametrize("name", FILES)
def test_views_agree(name: str, level: str) -> None:
    """Contracting the program graph's nodes by block or function gives the other views."""
    module = opened(name, level)
    graph, blocks, calls = program_graph(module), block_graph(module), call_graph(module)
    kind, _, function, block = graph.nodes.T
    source, target, flow, position = graph.edges.T
    code = (kind == INSTRUCTION) & (block >= 0)
    assert code.sum() == module.instruction_count() == calls.nodes[:, 1].sum()
    assert (np.bincount(block[code], minlength=len(blocks.nodes)) == blocks.nodes[:, 1]).all()
    assert (blocks.nodes[block[code], 0] == function[code]).all()

    last = np.flatnonzero(code)[np.flatnonzero(np.diff(block[code], append=-1))]  # the terminators
    leaving = (flow == CONTROL) & np.isin(source, last)
    between = np.stack([block[source], block[target], flow, position])[:, leaving]
    assert sorted(between.T.tolist()) == sorted(blocks.edges.tolist())

    out = (flow == CALL) & np.isin(source, source[flow == CONTROL])  # of calls, not of ends
    sites = Counter(zip(function[source[out]].tolist(), function[target[out]].tolist(), strict=True))
    assert sites == {(caller, callee): count for caller, callee, _, count in calls.edges.tolist() if caller}


@pytest.mark.parametrize("name", FILES)
def test_data_flow_is_whole(name: str) -> None:
    """A result comes from its instruction alone; operands of an instruction have different positions."""
    graph = program_graph(opened(name, "O2"))
    kind = graph.nodes[:, 0]
    source, target, flow, position = graph.edges.T
    data = flow == DATA_FLOW
    results = data & (kind[target] == VARIABLE)
    assert (source[results] == target[results] - 1).all()
    assert (position[results] == 0).all()
    assert len(set(target[results].tolist())) == results.sum()
    used = data & (kind[target] == INSTRUCTION)
    places = list(zip(target[used].tolist(), position[used].tolist(), strict=True))
    assert len(set(places)) == len(places)
    assert (kind[source[used]] != INSTRUCTION).all()
    defined = set(target[results].tolist())
    arguments = (kind == VARIABLE) & (graph.nodes[:, 3] < 0)
    assert set(np.flatnonzero(kind == VARIABLE).tolist()) == defined | set(np.flatnonzero(arguments).tolist())
    assert set(np.flatnonzero(kind == CONSTANT).tolist()) <= set(source[data].tolist())


def test_same_state_same_graph() -> None:
    module = opened("hash_table.c", "O2")
    first, again, copy = (program_graph(each, types=True) for each in (module, module, module.clone()))
    for other in (again, copy):
        assert (other.nodes == first.nodes).all()
        assert (other.edges == first.edges).all()
        assert other.texts == first.texts
