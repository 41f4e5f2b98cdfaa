"""What each action makes of an op and its loops, and where it is illegal."""

from __future__ import annotations

import pytest

from burnish.core.errors import IllegalAction
from burnish.tasks.mlir_schedules.legality import MOST_LOOPS, MOST_POINTS
from tests.tasks.mlir_schedules.small import at, is_legal, loops, opened

M, C, P, S, F = "matmul#1", "conv_2d_nhwc_hwcf#1", "pooling_nhwc_max#1", "generic#1", "fill#0"
D = "depthwise_conv_2d_nhwc_hwc#1"


BLOCKED = at(M, "tile(0, 4)", "tile(1, 8)")
ROWS = ("tile(1, 1)", "tile(4, 1)", "decompose")  # of windows


@pytest.mark.parametrize(
    ("program", "trace", "extents", "around"),
    [
        ("matmul", [], (20, 24, 9), ""),
        ("matmul", at(M, "tile(0, 4)"), (4, 24, 9), "d0 step 4 x 5"),
        ("matmul", at(M, "tile(2, 3)"), (20, 24, 3), "r2 step 3 x 3"),
        ("matmul", at(M, "tile(0, 4)", "tile(0, 2)"), (2, 24, 9), "d0 step 4 x 5, d0 step 2 x 2"),
        ("matmul", at(M, "tile_parallel(1, 8)"), (20, 8, 9), "p1 step 8 x 3"),
        ("matmul", at(M, "split(2, 4)"), (20, 24, 8), ""),
        ("matmul", at(M, "pad(2, 4)"), (20, 24, 12), ""),
        ("matmul", at(M, "pad(2, 4)", "tile(2, 4)"), (20, 24, 4), "r2 step 4 x 3"),
        ("matmul", at(M, "interchange(0, 2)"), (9, 24, 20), ""),
        ("conv", at(C, "interchange(0, 3)", "tile(0, 4)"), (4, 6, 8, 1, 3, 3, 4), "d0 step 4 x 2"),
        ("matmul", at(M, "data_tile(8)"), (20, 3, 9, 8), ""),
        ("product", at(M, "data_tile(8)", "tile(1, 1)"), (12, 1, 8, 8), "d1 step 1 x 2"),
        ("matmul", at(M, "tile(0, 4)", "interchange(0, 1)"), (24, 4, 9), "d1 step 4 x 5"),
        ("matmul", [*BLOCKED, f"{M}: pack(1, 2)"], (4, 8, 9), "d0 step 4 x 5, d1 step 8 x 3"),
        (
            "matmul",
            [*BLOCKED, *at(M, "tile(2, 1)", "vectorize", "unroll(3)")],
            (4, 8, 1),
            "d0 step 4 x 5, d1 step 8 x 3, r2 step 3 x 3",
        ),
        (
            "product",
            [*BLOCKED, *at(M, "tile(2, 2)", "vectorize", "unroll(4)")],
            (4, 8, 2),
            "d0 step 4 x 3, d1 step 8 x 2",
        ),
        ("conv", at(C, "tile(3, 4)", "pack(1, 1)"), (1, 6, 8, 4, 3, 3, 4), "d3 step 4 x 2"),
        ("conv", at(C, "im2col"), (1, 48, 8, 36), ""),
        ("conv", at(C, *ROWS), (1, 8, 8, 3, 4), "d1 step 1 x 6, r4 step 1 x 3"),
        ("pool", at(P, *ROWS), (1, 4, 6, 2), "d1 step 1 x 4, r4 step 1 x 2"),
        ("depthwise", at(D, *ROWS), (1, 8, 4, 3), "d1 step 1 x 6, r4 step 1 x 3"),
        (
            "depthwise-nchw:6x8x4",
            at("depthwise_conv_2d_nchw_chw#1", "tile(3, 1)", "tile(4, 1)", "tile(5, 1)", "fold_unit_dims"),
            (6, 8),
            "d2 step 1 x 4, r2 step 1 x 3, r2 step 1 x 3",
        ),
        ("sums", at(S, "tile_reduction(1, 8)"), (12, 8), "r1 step 8 x 4"),
        ("columns", at(S, "tile_reduction(0, 4)"), (4, 32), "r0 step 4 x 3"),
    ],
)
def test_effect(program: str, trace: list[str], extents: tuple[int, ...], around: str) -> None:
    session = opened(program, *trace)
    site = session.ops.last if not trace else trace[0].partition(": ")[0]
    assert session.ops.by_name[site].op.extents == extents
    assert ", ".join(loops(session, site)) == around
    assert session.measure("seconds") > 0


@pytest.mark.parametrize(
    ("program", "trace", "born"),
    [
        ("matmul", at(M, "split(0, 12)"), {"matmul#1.tail": (8, 24, 9)}),
        (
            "matmul",
            [*at(M, "split(0, 12)", "split(1, 14)"), f"{M}.tail: split(2, 4)"],
            {"matmul#1.tail2": (12, 10, 9), "matmul#1.tail": (8, 24, 8), "matmul#1.tail.tail": (8, 24, 1)},
        ),
        ("conv", at(C, "im2col"), {f"{C}.columns": (1, 48, 36)}),
        ("product", at(M, "data_tile(8)"), {f"{M}.blocks": (2, 8, 8)}),
        ("sums", at(S, "tile_reduction(1, 8)"), {f"{S}.combined": (12, 8), f"{S}.start": (12, 8)}),
        (
            "softmax",
            ["softmax#0: decompose"],
            {f"softmax#0.{part}": (6, 16) for part in ("sum", "exp", "max")}
            | {f"softmax#0.{part}": (6,) for part in ("zero", "low")},
        ),
    ],
)
def test_sites_are_born_behind_the_one_they_are_of(
    program: str, trace: list[str], born: dict[str, tuple[int, ...]]
) -> None:
    before, session = opened(program), opened(program, *trace)
    known = {name: site.op.extents for name, site in session.ops.by_name.items()}
    assert {name: known[name] for name in known if name not in before.ops.by_name} == born
    names = session.sites()
    assert all(names.index(name.rpartition(".")[0]) < names.index(name) for name in born)
    assert session.measure("seconds") > 0


@pytest.mark.parametrize(
    ("trace", "entries"),
    [
        (["generic#3: tile(0, 4)"], ["generic#2: fuse(1)"]),
        (["generic#3: tile_parallel(0, 4)"], ["generic#2: fuse(1)", f"{M}: fuse(1)", f"{F}: fuse(1)"]),
        (
            ["generic#3: tile_parallel(0, 4)", "generic#3: tile_parallel(1, 8)"],
            ["generic#2: fuse(2)", f"{M}: fuse(2)", f"{F}: fuse(2)"],
        ),
        (["generic#3: tile(0, 4)", "generic#3: tile(1, 8)"], ["generic#2: fuse(2)", f"{M}: fuse(1)"]),
    ],
)
def test_producers_are_computed_in_loops_of_their_readers(trace: list[str], entries: list[str]) -> None:
    session = opened("layer", *trace, *entries)
    outer = loops(session, "generic#3")
    for entry in entries:
        site, _, action = entry.partition(": ")
        count = int(action[-2])
        assert loops(session, site) == outer[:count]
        assert session.ops.by_name[site].op.extents[:count] == (4, 8)[:count]
    assert session.measure("seconds") > 0


@pytest.mark.parametrize(
    ("program", "trace", "entry"),
    [
        pytest.param("matmul", [], f"{M}: tile(0, 3)", id="a tile that does not divide"),
        pytest.param("matmul", [], f"{M}: tile(1, 24)", id="one tile"),
        pytest.param("matmul", [], f"{M}: tile(3, 1)", id="no such iterator"),
        pytest.param("softmax", [], "softmax#0: tile(1, 4)", id="rows of a softmax are whole"),
        pytest.param("matmul", [], f"{M}: tile_parallel(2, 1)", id="threads would add up"),
        pytest.param("matmul", at(M, "tile(0, 4)"), f"{M}: tile_parallel(1, 8)", id="in a plain loop"),
        pytest.param("matmul", [], f"{M}: tile_reduction(2, 4)", id="only of generic ops"),
        pytest.param("sums", [], f"{S}: tile_reduction(0, 4)", id="not reduced"),
        pytest.param("matmul", [], f"{M}: split(0, 4)", id="nothing is left over"),
        pytest.param("matmul", at(M, "tile(0, 4)"), f"{M}: split(2, 4)", id="tiled already"),
        pytest.param("matmul", [], f"{M}: pad(0, 4)", id="divisible already"),
        pytest.param("sums", [], f"{S}: pad(0, 8)", id="not a product"),
        pytest.param("matmul", [], f"{M}: interchange(2, 3)", id="three iterators"),
        pytest.param("matmul", [], f"{M}: pack(1, 1)", id="no loop to pack outside of"),
        pytest.param("matmul", at(M, "tile(0, 4)"), f"{M}: pack(1, 1)", id="no loop goes through the copy"),
        pytest.param("matmul", [*BLOCKED, f"{M}: pack(1, 2)"], f"{M}: pack(1, 2)", id="packed already"),
        pytest.param("conv", at(C, "tile(1, 1)"), f"{C}: pack(0, 1)", id="windows are not copied"),
        pytest.param("conv", at(C, "tile(1, 1)"), f"{C}: pack(1, 1)", id="rows do not go through filters"),
        pytest.param("matmul", [], f"{M}: data_tile(16)", id="24 columns"),
        pytest.param("matmul", at(M, "tile(0, 4)"), f"{M}: data_tile(8)", id="stored otherwise in a loop"),
        pytest.param("matmul", at(M, "split(0, 12)"), f"{M}: data_tile(8)", id="stored otherwise, a part"),
        pytest.param("sums", [], f"{S}: data_tile(8)", id="blocks of no product"),
        pytest.param("layer", [], "generic#2: fuse(1)", id="its reader has no loop"),
        pytest.param("layer", ["generic#3: tile(0, 4)"], f"{M}: fuse(1)", id="its reader is outside"),
        pytest.param("matmul", at(M, "tile(0, 4)"), f"{F}: fuse(1)", id="what a loop starts from"),
        pytest.param("strided", [], "conv_2d_nchw_fchw#1: decompose", id="windows of more than a row"),
        pytest.param("conv", [], f"{C}: fold_unit_dims", id="no iterator of one value"),
        pytest.param("conv", at(C, "tile(4, 1)"), f"{C}: fold_unit_dims", id="one window is left"),
        pytest.param("matmul", at(M, "tile(0, 1)"), f"{M}: fold_unit_dims", id="no window"),
        pytest.param("conv", at(C, "tile(1, 1)"), f"{C}: im2col", id="in a loop"),
        pytest.param("matmul", [], f"{M}: im2col", id="no convolution"),
        pytest.param("matmul", [], f"{M}: vectorize", id="4,320 points"),
        pytest.param(
            "conv", at(C, "tile(1, 1)", "tile(2, 1)", "tile(3, 1)"), f"{C}: vectorize", id="2-d windows"
        ),
        pytest.param("matmul", BLOCKED, f"{M}: hoist", id="not vectors yet"),
        pytest.param("matmul", BLOCKED, f"{M}: unroll(2)", id="not vectors, to be unrolled"),
        pytest.param("sums", [f"{S}: vectorize"], f"{S}: hoist", id="no loop to hoist out of"),
        pytest.param("sums", [f"{S}: vectorize"], f"{S}: vectorize", id="vectors already"),
        pytest.param("matmul", [], f"{M}: next", id="the cursor moves on the whole program"),
        pytest.param("matmul", ["done"], "next", id="behind the end"),
    ],
)
def test_illegal(program: str, trace: list[str], entry: str) -> None:
    session = opened(program, *trace)
    before = session.digest()
    site, _, text = entry.rpartition(": ")
    assert not is_legal(session, entry)
    where = f" at site '{site}'" if site else ""
    with pytest.raises(IllegalAction) as caught:
        session.replay([entry])
    assert str(caught.value).startswith(f"{text!r} is illegal{where} after {len(trace)} steps; ")
    assert session.digest() == before


def test_blocks_are_of_one_input() -> None:
    """Where both have the iterator, there would be two sites of one name."""
    text = """func.func @main(%a: tensor<32x8xf32>, %b: tensor<32x8xf32>, %z: tensor<32xf32>)
        -> tensor<32xf32> {
      %p = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k)>,
          affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%a, %b : tensor<32x8xf32>, tensor<32x8xf32>) outs(%z : tensor<32xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %o, %m : f32
        linalg.yield %t : f32
      } -> tensor<32xf32>
      return %p : tensor<32xf32>
    }"""
    assert not is_legal(opened(text), "generic#0: data_tile(8)")


def test_op_is_in_so_many_loops_at_most() -> None:
    session = opened("add:4096x4096")
    for number in range(MOST_LOOPS):
        session.replay([f"add#0: tile({number % 2}, {4096 >> (4 + number // 2)})"])
    assert len(loops(session, "add#0")) == MOST_LOOPS
    assert not is_legal(session, "add#0: tile(0, 4)")


def test_vectors_are_of_so_many_points_at_most() -> None:
    assert is_legal(opened(f"add:{MOST_POINTS}"), "add#0: vectorize")
    assert not is_legal(opened(f"add:{2 * MOST_POINTS}"), "add#0: vectorize")


def test_cursor_goes_from_the_last_op_to_the_first() -> None:
    session, seen = opened("layer"), []
    while session.cursor:
        seen.append(session.cursor)
        session.replay(["next"])
    assert seen == list(reversed(session.sites()))
    assert not session.legal().any()


def test_actions_at_the_cursor_are_told_with_their_site() -> None:
    session = opened("layer", "next", "tile(0, 4)")
    assert session.trace == ["next", "generic#2: tile(0, 4)"]
