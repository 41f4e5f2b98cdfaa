"""Observations, column by column, of programs that were worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from burnish.tasks.mlir_schedules.actions import INDEX
from burnish.tasks.mlir_schedules.observations import COLUMNS, KINDS, NEIGHBOURS, NODE_COLUMNS
from burnish.tasks.mlir_schedules.payload import SITE
from burnish.tasks.mlir_schedules.session import ScheduleSession
from tests.tasks.mlir_schedules.small import opened, small

M, C = "matmul#1", "conv_2d_nhwc_hwcf#1"
TILED = [f"{M}: tile(0, 4)", f"{M}: tile(2, 3)"]


def log(value: float) -> np.float32:
    return np.float32(math.log2(value) / 32)


def observed(session: ScheduleSession, space: str) -> Any:
    return session.observe(space)


def told(session: ScheduleSession, site: str) -> dict[str, float]:
    """Return an op's row, by column, without zeros."""
    row = observed(session, "ops")[session.sites().index(site)]
    return {name: value for name, value in zip(COLUMNS, row.tolist(), strict=True) if value}


def access(session: ScheduleSession, site: str, operand: int) -> list[list[int]]:
    """Return the matrix of an operand as it is observed: a row for each dimension of more than 1."""
    found, row = [], told(session, site)
    for dimension in range(4):
        names = [f"operand {operand}, dimension {dimension}, iterator {i}" for i in range(8)]
        if f"operand {operand}, dimension {dimension}, extent" in row:
            found.append([int(row.get(name, 0)) for name in names])
    return found


def test_row_of_a_matmul() -> None:
    row = told(opened("matmul"), M)
    expected = {
        "is there": 1,
        "is at the cursor": 1,
        "matmul": 1,
        "op": 1,
        "points": log(20 * 24 * 9),
        "reads": 3 / 8,
        "mulf": 1 / 8,
        "addf": 1 / 8,
        "extent of iterator 0": log(20),
        "extent of iterator 1": log(24),
        "extent of iterator 2": log(9),
        "is reduced of iterator 2": 1,
    }
    assert {name: value for name, value in row.items() if "operand" not in name} == expected
    extents = [row[f"operand {o}, dimension {d}, extent"] for o in range(3) for d in (2, 3)]
    assert extents == [log(size) for size in (20, 9, 9, 24, 20, 24)]


def test_row_of_a_tiled_matmul() -> None:
    row = told(opened("matmul", *TILED), M)
    assert row["extent of iterator 0"] == log(4)
    assert row["extent of iterator 2"] == log(3)
    assert (row["tiles of iterator 0"], row["tiles of iterator 2"]) == (1 / 4, 1 / 4)
    assert row["loops"] == np.float32(2 / 12)
    inner = {name.partition(" of loop 0")[0]: value for name, value in row.items() if "of loop 0" in name}
    assert inner == {"iterator": 3 / 8, "step": log(3), "trips": log(3), "is reduced": 1}
    outer = {name.partition(" of loop 1")[0]: value for name, value in row.items() if "of loop 1" in name}
    assert outer == {"iterator": 1 / 8, "step": log(4), "trips": log(5)}
    assert row["operand 0, dimension 2, extent"] == log(4)
    assert row["operand 0, dimension 3, extent"] == log(3)


@pytest.mark.parametrize(
    ("program", "site", "operand", "matrix"),
    [
        ("matmul", M, 0, ["100", "001"]),
        ("matmul", M, 1, ["001", "010"]),
        ("matmul", M, 2, ["100", "010"]),
        ("product", M, 1, ["010", "001"]),
        ("conv", C, 0, ["0100100", "0010010", "0000001"]),
        ("conv", C, 1, ["0000100", "0000010", "0000001", "0001000"]),
        ("strided", "conv_2d_nchw_fchw#1", 0, ["0000100", "0020010", "0002001"]),
        ("bias", "generic#0", 1, ["01"]),
        ("sums", "generic#1", 1, ["10"]),
        ("softmax", "softmax#0", 0, ["10", "01"]),
    ],
)
def test_access_matrices(program: str, site: str, operand: int, matrix: list[str]) -> None:
    padded = [list(map(int, row.ljust(8, "0"))) for row in matrix]
    assert access(opened(program), site, operand) == padded


def test_stages_and_packed_operands_are_told() -> None:
    trace = [f"{M}: {text}" for text in ("tile(0, 4)", "tile(1, 8)", "pack(1, 2)", "tile(2, 1)", "vectorize")]
    row = told(opened("matmul", *trace), M)
    assert (row["vectors"], row["packed 1"], "op" in row, "packed 0" in row) == (1, 1, False, False)
    row = told(opened("matmul", *trace, f"{M}: hoist", f"{M}: unroll(3)"), M)
    assert (row["hoisted"], row["bodies"]) == (1, log(3))


def test_neighbours_are_the_reader_the_op_and_what_it_reads() -> None:
    session = opened("layer", "next", "next")
    assert session.cursor == M
    rows, seen = observed(session, "ops"), observed(session, "neighbours")
    fill, matmul, bias, _ = rows
    assert seen.shape == (2 + NEIGHBOURS, len(COLUMNS))
    assert (seen[:3] == [bias, matmul, fill]).all()
    assert not seen[3:].any()
    assert (session.observe("op") == matmul).all()


def test_nothing_is_at_the_cursor_behind_the_first_op() -> None:
    session = opened("layer", "done")
    for space in ("op", "neighbours"):
        assert not np.any(session.observe(space))
    assert "is at the cursor" not in told(session, M)


def test_graph_has_a_node_for_each_op_and_an_edge_for_each_read() -> None:
    nodes, edges = observed(opened("layer", f"{M}: tile(0, 4)"), "graph")[:2]
    rows = [dict(zip(NODE_COLUMNS, row, strict=True)) for row in nodes.tolist()]
    assert [KINDS[row["kind"]] for row in rows] == ["fill", "matmul", "generic", "generic"]
    assert [row["cursor"] for row in rows] == [0, 0, 0, 1]
    assert [row["loops"] for row in rows] == [0, 1, 0, 0]
    assert [rows[1][f"extent {i}"] for i in range(4)] == [4, 16, 8, 0]
    assert rows[1]["points"] == 4 * 16 * 8
    assert edges.tolist() == [[0, 1, 0, 2], [1, 2, 0, 0], [2, 3, 0, 0]]


def test_history_is_of_the_op_at_the_cursor() -> None:
    session = opened("matmul", *TILED, f"{M}: tile(0, 2)", "fill#0: vectorize")
    times, recency = observed(session, "history")
    first, second, third = (INDEX[text] for text in ("tile(0, 4)", "tile(2, 3)", "tile(0, 2)"))
    assert sorted(np.flatnonzero(times)) == sorted([first, second, third])
    assert times[first] == 1 / 4
    assert [recency[i] for i in (first, second, third)] == [np.float32(i / 3) for i in (1, 2, 3)]


def test_texts_are_the_program_and_the_module() -> None:
    session = opened("matmul")
    assert session.observe("program") == small("matmul").content.decode()
    before = observed(session, "module")
    assert f'{SITE} = "{M}"' in before
    assert "scf.for" not in before
    session.replay(TILED)
    assert observed(session, "module").count("scf.for") == 2


def test_runtime_is_what_a_call_takes() -> None:
    (seconds,) = observed(opened("matmul"), "runtime")
    assert 0 < seconds < 1


def test_fork_sees_the_same_and_goes_its_own_way() -> None:
    session = opened("layer")
    fork = session.fork()
    session.replay(["tile(0, 4)"])
    assert np.any(session.observe("op") != fork.observe("op"))
    fork.replay(["tile(0, 4)"])
    assert np.all(session.observe("ops") == fork.observe("ops"))
    assert session.digest() == fork.digest()
