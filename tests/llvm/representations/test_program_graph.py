"""Graphs of small modules are as drawn by hand in data/*.graph, node for node and edge for edge."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.llvm.representations.graph import FLOWS, KINDS, ProgramGraph, program_graph
from burnish.llvm.representations.vocabulary import EXTERNAL, UNKNOWN, Vocabulary, shipped_vocabulary

DATA = Path(__file__).parent / "data"
DRAWN = sorted(path.stem for path in DATA.glob("*.graph"))
NODE = re.compile(r"(\d+)\s+(\w+)\s+(\S+(?: \S+)*)\s+(-|\d+)\s+(-|\d+)(\s|$)")
EDGE = re.compile(r"(\d+) -> (\d+)\s+(\w+)\s+(\d+)(\s|$)")


def module(name: str) -> _native.Module:
    return _native.Module((DATA / f"{name}.ll").read_bytes())


def number(text: str) -> int:
    return -1 if text == "-" else int(text)


def drawn(name: str) -> tuple[list[tuple[str, str, int, int]], list[tuple[int, int, str, int]]]:
    """Return the nodes (kind, text, function, block) and the sorted edges of a .graph file."""
    nodes: list[tuple[str, str, int, int]] = []
    edges: list[tuple[int, int, str, int]] = []
    for line in (DATA / f"{name}.graph").read_text().splitlines():
        if found := EDGE.match(line):
            edges.append((int(found[1]), int(found[2]), found[3], int(found[4])))
        elif found := NODE.match(line):
            assert int(found[1]) == len(nodes)
            nodes.append((found[2], found[3], number(found[4]), number(found[5])))
        else:
            assert not line or line.startswith("#"), line
    return nodes, sorted(edges)


def computed(graph: ProgramGraph) -> tuple[list[tuple[str, str, int, int]], list[tuple[int, int, str, int]]]:
    rows = zip(graph.nodes.tolist(), graph.node_texts(), strict=True)
    nodes = [(KINDS[kind], text, function, block) for (kind, _, function, block), text in rows]
    return nodes, sorted((source, target, FLOWS[flow], last) for source, target, flow, last in graph.edges)


@pytest.mark.parametrize("name", DRAWN)
def test_graph_is_as_drawn(name: str) -> None:
    nodes, edges = drawn(name)
    graph = program_graph(module(name), types=name == "types")
    assert computed(graph) == (nodes, edges)


def test_tokens_are_numbers_in_the_vocabulary() -> None:
    vocabulary = Vocabulary((UNKNOWN, "ret i32", EXTERNAL, "i32"))
    graph = program_graph(module("straight"), vocabulary=vocabulary)
    assert graph.nodes[:, 1].tolist() == [2, 3, 3, 0, 3, 0, 3, 0, 1, 0, 0]
    shipped = shipped_vocabulary().texts
    graph = program_graph(module("diamond"))
    assert [shipped[token] for token in graph.nodes[:, 1].tolist()] == graph.node_texts()


def test_graph_without_functions_is_the_outside() -> None:
    graph = program_graph(_native.Module(b"@g = global i32 0"), types=True)
    assert graph.nodes.tolist() == [[0, shipped_vocabulary().lookup(["[external]"])[0], 0, -1]]
    assert graph.edges.shape == (0, 4)
    assert graph.nodes.dtype == graph.edges.dtype == np.int64


@pytest.mark.parametrize("name", DRAWN)
def test_types_only_add(name: str) -> None:
    without, with_types = program_graph(module(name)), program_graph(module(name), types=True)
    size = len(without.nodes)
    assert (with_types.nodes[:size] == without.nodes).all()
    assert (with_types.nodes[size:, 0] == KINDS.index("type")).all()
    assert (with_types.edges[: len(without.edges)] == without.edges).all()
    typed = Counter(with_types.edges[len(without.edges) :, 1].tolist())
    values = np.flatnonzero((without.nodes[:, 0] == 1) | (without.nodes[:, 0] == 2))
    assert all(typed[node] == 1 for node in values.tolist())
