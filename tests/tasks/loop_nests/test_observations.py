"""Observations, column by column, of trees that were worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.envs.graphs import observed_networkx
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.actions import ACTIONS
from burnish.tasks.loop_nests.observations import (
    LOOP_COLUMNS,
    LOOPTOOL_COLUMNS,
    NODE_COLUMNS,
    SCHEDULE_COLUMNS,
)
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.session import NestSession, open_nest

BITS = 32
LOOP_OF_CHAIN = {"is a loop": 1, "iterations": 6, "step": 1, "loop": 1}


@pytest.fixture(scope="module")
def product() -> NestSession:
    """In elements, m moves c by 24 and a by 9, n moves c and b by 1, k moves a by 1 and b by 24.

    for m in 3 r 2
      for m.1 in 6
        for k in 9 [pack b]
          for n in 3
            for n.1 in 8 [vectorize]
    """
    session = open_nest(parse("f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]").program("product"))
    session.replay(
        ["k: swap_up", "n: split(8)", "m: split(6)", "n.1: vectorize", "k: pack(1)", "down", "down"]
    )
    return session


@pytest.fixture(scope="module")
def chain() -> NestSession:
    session = open_nest(parse("f32 n=6\nt[n] = x[n] * y[n]\no[n] = max(t[n], 0)").program("chain"))
    session.replay(["n.1: fuse"])
    return session


def row(seen: Any, number: int, columns: tuple[str, ...]) -> dict[str, float]:
    """Return what is not 0 in a row, by column."""
    return {name: value for name, value in zip(columns, seen[number].tolist(), strict=True) if value}


def bins(*sizes: int) -> list[str]:
    return [f"strides in [2^{size}, 2^{size + 1})" for size in sizes]


def test_loops_tensor(product: NestSession) -> None:
    seen = product.observe("loops_tensor")
    assert isinstance(seen, np.ndarray) and (seen.shape, str(seen.dtype)) == ((10, 20), "int64")
    rows = [row(seen, number, LOOPTOOL_COLUMNS) for number in range(10)]
    assert rows[0] == {"size": 3, "tail": 2, **dict.fromkeys(bins(7, 5), 1)}  # 6 * 24 = 144, 6 * 9 = 54
    assert rows[1] == {"size": 6, **dict.fromkeys(bins(4, 3), 1)}  # 24, 9
    assert rows[2] == {"cursor": 1, "size": 9, "is reduced": 1, **dict.fromkeys(bins(0, 4), 1)}  # 1, 24
    assert rows[3] == {"size": 3, bins(3)[0]: 2}  # 8 and 8
    assert rows[4] == {"size": 8, bins(0)[0]: 2}
    assert not any(rows[5:])


def test_schedule(product: NestSession) -> None:
    seen = product.observe("schedule")
    assert isinstance(seen, np.ndarray) and (seen.shape, str(seen.dtype)) == ((16, 6), "int64")
    rows = [row(seen, number, SCHEDULE_COLUMNS) for number in range(16)]
    assert rows[0] == {"iterator": 1, "step": 6, "depth": 1}
    assert rows[1] == {"iterator": 1, "step": 1, "depth": 2}
    assert rows[2] == {"cursor": 1, "iterator": 3, "step": 1, "depth": 3, "copies": 0b10}
    assert rows[3] == {"iterator": 2, "step": 8, "depth": 4}
    assert rows[4] == {"iterator": 2, "step": 1, "kind": 2, "depth": 5}
    assert not any(rows[5:])


def test_schedules_look_the_same_for_all_extents() -> None:
    trace = ["n: split(8)", "n.1: swap_down", "n.1: vectorize"]
    one, other = (
        open_nest(parse(f"f32 m={m} n={n} k={k}\nc[m,n] += a[m,k] * b[k,n]").program("product"))
        for m, n, k in ((20, 24, 9), (7, 100, 30))
    )
    one.replay(trace)
    other.replay(trace)
    assert np.array_equal(one.observe("schedule"), other.observe("schedule"))
    assert not np.array_equal(one.observe("loops"), other.observe("loops"))


def test_stride_tensor(product: NestSession) -> None:
    seen = product.observe("stride_tensor")
    assert isinstance(seen, np.ndarray) and seen.shape == (32,)
    counts = {number: count for number, count in enumerate(seen.tolist()) if count}
    # each of 5 loops leaves one of the three where it is; 1 1 1; 8 8 9; 24 24; 54; 144
    assert counts == {0: 5, 1: 3, 4: 3, 5: 2, 6: 1, 8: 1}


def test_loops(product: NestSession) -> None:
    seen = product.observe("loops")
    assert isinstance(seen, np.ndarray) and (seen.shape, str(seen.dtype)) == ((16, 30), "float32")

    def log(number: float) -> float:
        return math.log2(number) / BITS

    outer = row(seen, 0, LOOP_COLUMNS)
    assert outer == pytest.approx(
        {
            "is there": 1,
            "loop": 1,
            "iterations": log(4),  # the one that is not whole, too
            "step": log(6),
            "share of the tail": 2 / 6,
            "depth": 1 / 16,
            "loops inside": 4 / 16,
            "statements inside": 1 / 4,
            "iterations inside": log(6 * 9 * 24),
            "is accessed: target": 1,
            "stride: target": log(6 * 24),
            "values below: target": log(6 * 24),
            "is accessed: operand 0": 1,
            "stride: operand 0": log(6 * 9),
            "values below: operand 0": log(6 * 9),
            "is accessed: operand 1": 1,
            "stride: operand 1": -1 / BITS,  # it does not move
            "values below: operand 1": log(9 * 24),
        },
        rel=1e-6,
    )
    packed = row(seen, 2, LOOP_COLUMNS)
    assert packed["cursor"] == packed["is reduced"] == packed["is packed: operand 1"] == 1
    assert "is packed: operand 0" not in packed
    vector = row(seen, 4, LOOP_COLUMNS)
    assert vector["vectorize"] == vector["is packed: operand 1"] == 1  # packed around it
    assert "loop" not in vector and vector["iterations"] == pytest.approx(log(8))
    assert not row(seen, 5, LOOP_COLUMNS)


def test_previous_actions_begin_with_the_last(product: NestSession) -> None:
    seen = product.observe("5_prev_actions_tensor")
    assert isinstance(seen, np.ndarray) and seen.shape == (5, len(ACTIONS))
    assert [ACTIONS[one] for one in seen.argmax(axis=1)] == [
        "down",
        "down",
        "pack(1)",
        "vectorize",
        "split(6)",
    ]
    assert (seen.sum(axis=1) == 1).all()
    first = open_nest(product.program).observe("5_prev_actions_tensor")
    assert isinstance(first, np.ndarray) and not first.any()


def test_tree_and_graph(chain: NestSession) -> None:
    tree, graph = chain.observe("ir_tree_networkx"), chain.observe("ir_graph_networkx")
    assert isinstance(tree, tuple) and isinstance(graph, tuple)
    assert row(tree.nodes, 1, NODE_COLUMNS) == LOOP_OF_CHAIN
    assert len(tree.nodes) == 4 and not tree.nodes[[0, 2, 3]].any()  # the nest, and two statements
    contains = [[0, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 1]]
    assert tree.edges.tolist() == contains
    x, y, t, o = 4, 5, 6, 7
    uses = [[x, 2, 1, 0], [y, 2, 1, 1], [2, t, 2, 0], [t, 3, 1, 0], [3, o, 2, 0]]
    assert graph.edges.tolist() == contains + uses
    assert len(graph.nodes) == 8


def test_networkx_names_loops_tensors_and_flows(chain: NestSession) -> None:
    pytest.importorskip("networkx")
    tree = observed_networkx(TASK, chain, "ir_tree_networkx")
    assert [tree.nodes[node]["text"] for node in tree] == [
        "nest",
        "for n in 6",
        "t[n] = x[n] * y[n]",
        "o[n] = max(t[n], 0.0)",
    ]
    assert tree.nodes[1] == {**dict.fromkeys(NODE_COLUMNS, 0), **LOOP_OF_CHAIN, "text": "for n in 6"}
    assert list(tree.edges(data=True)) == [
        (0, 1, {"flow": "contains", "position": 0}),
        (1, 2, {"flow": "contains", "position": 0}),
        (1, 3, {"flow": "contains", "position": 1}),
    ]
    graph = observed_networkx(TASK, chain, "ir_graph_networkx")
    names = dict(graph.nodes(data="text"))
    assert [names[node] for node in range(4, 8)] == ["x[6]", "y[6]", "t[6]", "o[6]"]
    uses = [
        (names[source], flow, names[target])
        for source, target, flow in graph.edges(data="flow")
        if flow != "contains"
    ]
    first, second = names[2], names[3]
    assert sorted(uses) == sorted(
        [
            ("x[6]", "reads", first),
            ("y[6]", "reads", first),
            (first, "writes", "t[6]"),
            ("t[6]", "reads", second),
            (second, "writes", "o[6]"),
        ]
    )


def test_networkx_of_what_is_no_graph_names_the_graphs(chain: NestSession) -> None:
    with pytest.raises(
        InputError, match="loops: array; expected a graph: ir_tree_networkx, ir_graph_networkx"
    ):
        observed_networkx(TASK, chain, "loops")


def test_texts(product: NestSession) -> None:
    assert product.observe("loop_tree") == str(product.tree)
    assert "define void @kernel(ptr" in str(product.observe("llvm_ir"))


def test_ir_is_the_nest_and_its_loops_and_can_be_read(product: NestSession) -> None:
    text = str(product.observe("ir"))
    assert (
        text
        == """\
f32 m=20 n=24 k=9
c[m,n] += a[m,k] * b[k,n]
# for m in 3 r 2
#   for m.1 in 6
#     for k in 9 [pack b]
#       for n in 3
#         for n.1 in 8 [vectorize]
#           c[m,n] += a[m,k] * b[k,n]
"""
    )
    assert parse(text) == product.tree.nest


def test_rates_are_of_the_time(chain: NestSession) -> None:
    runtime, flops = chain.observe("runtime"), chain.observe("flops")
    assert isinstance(runtime, np.ndarray) and isinstance(flops, np.ndarray)
    assert flops.tolist() == [12 / runtime[0], 12]  # a product and a maximum, six times
