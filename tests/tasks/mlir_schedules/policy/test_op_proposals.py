"""Sketches, the policy that proposes them, and networks op by op."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import burnish.tasks.mlir_schedules.policy.op_proposals as op_proposals
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.trace import split_entry
from burnish.policies.find import SHIPPED, find_guide
from burnish.tasks.mlir_schedules.actions import ACTIONS
from burnish.tasks.mlir_schedules.drawing import draw, vary
from burnish.tasks.mlir_schedules.features import COLUMNS
from burnish.tasks.mlir_schedules.legality import IMAGES
from burnish.tasks.mlir_schedules.policy.independent_ops import IndependentOps
from burnish.tasks.mlir_schedules.policy.op_proposals import KIND, propose
from burnish.tasks.mlir_schedules.policy.op_search import OpSearch, SketchChoice
from burnish.tasks.mlir_schedules.programs import program
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.mlir_schedules.sketches import entries, opened, realize, repeats, sketch_of
from burnish.tasks.mlir_schedules.train.op_cost_training import MeasuredSketches, measure
from burnish.tasks.mlir_schedules.writing import layers
from burnish.tasks.mlir_schedules.writing.draft import Draft, Window
from burnish.tasks.mlir_schedules.writing.families import find
from burnish.tasks.tensors.machine import machine_of
from burnish.tasks.tensors.policy.cost_model import CostModel, load_cost_model
from burnish.tasks.tensors.train.measuring import line_of, read_rows
from tests.tasks.mlir_schedules.small import SMALL, small

LANES = 8
VECTORS = ("fold_unit_dims", "vectorize", "unroll(4)", "hoist")
TWICE = """func.func @main(%a: tensor<24x32xf32>, %b: tensor<32x32xf32>) -> tensor<24x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<24x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<24x32xf32>) -> tensor<24x32xf32>
  %p = linalg.matmul ins(%a, %b : tensor<24x32xf32>, tensor<32x32xf32>) outs(%z : tensor<24x32xf32>)
      -> tensor<24x32xf32>
  %q = linalg.matmul ins(%a, %b : tensor<24x32xf32>, tensor<32x32xf32>) outs(%z : tensor<24x32xf32>)
      -> tensor<24x32xf32>
  %s = linalg.add ins(%p, %q : tensor<24x32xf32>, tensor<24x32xf32>) outs(%e : tensor<24x32xf32>)
      -> tensor<24x32xf32>
  return %s : tensor<24x32xf32>
}"""


@pytest.fixture(scope="module", params=["avx2", "avx512"])
def model(request: pytest.FixtureRequest) -> CostModel:
    return load_cost_model(SHIPPED / f"mlir_schedules-seconds-{request.param}.npz", COLUMNS, KIND)


@pytest.mark.parametrize(
    ("cpu", "expected"), [("x86-64", "avx2"), ("haswell", "avx2"), ("skylake-avx512", "avx512")]
)
def test_the_shipped_policy_is_that_of_such_a_machine(
    cpu: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.tasks.tensors.policy.cost_model.host", lambda: machine_of(cpu))
    found = find_guide("shipped", load_task("mlir_schedules"), "seconds")
    assert found and found[1] == f"mlir_schedules-seconds-{expected}"


@pytest.mark.parametrize(
    ("lanes", "filters", "expected"),
    [(8, 64, {16}), (8, 8, {8}), (16, 128, {32, 64}), (16, 96, {32}), (16, 72, {32}), (16, 16, {16})],
)
def test_tiles_of_filters_fit_into_the_registers(lanes: int, filters: int, expected: set[int]) -> None:
    """Two registers or four for each pixel, one if there are so few filters; 14 and 28 at most in all."""
    text = find(f"conv2d-batch:2x8x28x28x{filters}x3x1x1")
    _, ops = opened(open_program(program(text, "images")))
    (op,) = (op for op in ops.values() if op.kind == IMAGES)
    rng = np.random.default_rng(0)
    tiles = [dict(sketch.tile) for _ in range(100) if (sketch := draw(op, lanes, rng))]
    assert {tile[1] for tile in tiles} == expected
    registers = [-(-tile[1] // lanes) * tile[3] for tile in tiles]
    assert max(registers) <= {8: 14, 16: 28}[lanes] and max(registers) >= 7


@pytest.mark.parametrize("name", SMALL)
def test_sketches_are_legal_and_compute_what_numpy_does(name: str) -> None:
    rng = np.random.default_rng(3)
    session = open_program(small(name))
    before, ops = opened(session)
    session.replay(before)
    for site, op in reversed(ops.items()):
        sketch = draw(op, LANES, rng)
        sketch = vary(op, sketch, LANES, rng) or sketch
        if sketch:
            session.replay(entries(op, sketch, site))
    session.compiled()  # compared


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    *(st.integers(1, most) for most in (5, 5)),
    *(st.integers(1, 12) for _ in range(2)),
    st.sampled_from((1, 3, 8, 16, 20)),
    st.sampled_from((1, 3, 5)),
    *(st.integers(least, 2) for least in (1, 0)),
    st.integers(0, 99),
)
def test_images_with_channels_first_have_sketches_for_all_shapes(
    images: int,
    channels: int,
    rows: int,
    columns: int,
    filters: int,
    side: int,
    stride: int,
    padding: int,
    seed: int,
) -> None:
    assume(min(rows, columns) + 2 * padding >= side)
    draft = Draft()
    image = draft.argument(images, channels, rows, columns)
    image = layers.padded(draft, image, padding, "nchw") if padding else image
    text = draft.text(layers.conv2d(draft, image, filters, Window(side, stride), "nchw"))
    session, rng = open_program(program(text, "images")), np.random.default_rng(seed)
    for site, op in opened(session)[1].items():
        if sketch := draw(op, LANES, rng):
            session.replay(entries(op, sketch, site))
    session.compiled()  # compared


def images(side: int) -> Program:
    """Return a convolution of 2 images, of 16 columns and rows, by 32 filters of so many columns and rows."""
    draft = Draft()
    image = draft.argument(2, 3, 15 + side, 15 + side)
    return program(draft.text(layers.conv2d(draft, image, 32, Window(side, 1), "nchw")), "images")


@pytest.mark.parametrize(
    ("side", "wanted"),
    [
        (
            1,
            [
                *("tile(2, 4)", "tile(0, 1)", "tile(1, 16)", "tile(2, 1)", "tile(3, 4)", "tile(4, 1)"),
                *("tile(3, 1)", "pack(1, 7)", "pack(0, 5)", *VECTORS),
            ],
        ),
        (
            3,
            [
                *("tile(0, 1)", "tile(1, 16)", "tile(2, 1)", "tile(3, 4)", "tile(4, 1)", "tile(5, 1)"),
                *("tile(6, 1)", "tile(3, 1)", "pack(1, 8)", *VECTORS, "unroll(3)"),
            ],
        ),
    ],
)
def test_rows_are_copied_for_all_filters_and_windows_are_unrolled(side: int, wanted: list[str]) -> None:
    session, rng = open_program(images(side)), np.random.default_rng(0)
    (op,) = (op for op in opened(session)[1].values() if op.kind == IMAGES)
    drawn = (entries(op, sketch) for _ in range(500) if (sketch := draw(op, LANES, rng)))
    trace = next(one for one in drawn if [split_entry(text)[1] for text in one] == wanted)
    session.replay(trace)
    session.compiled()  # compared


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["strided", "1x1", "3x3", "6x6"])
def test_a_sketch_is_read_from_its_actions(name: str, seed: int) -> None:
    source = small(name) if name == "strided" else images(int(name[0]))
    (op,) = (op for op in opened(open_program(source))[1].values() if op.kind == IMAGES)
    sketch = draw(op, LANES, np.random.default_rng(seed))
    assert sketch and repeats(op, sketch)
    main = realize(op, sketch).main
    texts = [text for site, text in map(split_entry, entries(op, sketch)) if site == op.site]
    texts = [text for text in texts if not text.startswith("split")]
    found = sketch_of(main, texts)
    assert found
    assert entries(main, found) == tuple(f"{op.site}: {text}" for text in texts)
    assert {*texts} <= {*ACTIONS}


@pytest.mark.parametrize("name", ["matmul", "conv", "layer", "attention"])
def test_proposals_are_distinct_and_follow_what_was_measured(name: str, model: CostModel) -> None:
    proposals = propose(small(name), model)
    traces = [next(proposals)]
    while len(traces) < 12:
        traces.append(proposals.send(1e-3 / len(traces)))  # each is faster than those before
    proposals.close()
    assert len(set(traces)) == len(traces)
    for trace in traces[::4]:
        open_program(small(name)).replay(trace)


def test_proposals_end_where_there_are_no_others(model: CostModel) -> None:
    proposals = propose(small("max-rows:2x2"), model)
    traces = [next(proposals)]
    with pytest.raises(StopIteration):
        while len(traces) < 10_000:
            traces.append(proposals.send(1e-3))
    assert len(set(traces)) == len(traces)


def test_ops_that_are_alike_are_measured_once(model: CostModel) -> None:
    session = open_program(program(TWICE, "twice"))
    search = OpSearch(opened(session)[1], model)
    assert search.pools["matmul#1"] is search.pools["matmul#2"]
    with closing(IndependentOps(session, search)) as apart:
        (products,) = (one for one in apart.ops if "matmul#1" in one.sites)
        assert products.sites == ["matmul#1", "matmul#2"]
        assert products.weight == 2 * products.seconds
        for _ in range(4):
            products.measure(apart._worker)
        fastest = apart.fastest()
    assert products.tries == 4
    assert fastest["matmul#1"] is fastest["matmul#2"] is products.fastest
    search.next_is(fastest)
    chosen = search.next()
    assert chosen and chosen.choices["matmul#2"] is products.fastest


def last_sketch(pool: Sequence[SketchChoice]) -> SketchChoice:
    """Return the choice of the longest predicted time that is not LLVM's."""
    return next((one for one in reversed(pool) if one.sketch), pool[-1])


def test_networks_take_what_was_fastest_apart(model: CostModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def prefer_another(apart: IndependentOps, seconds: float) -> None:
        for one in apart.ops:
            one.fastest = last_sketch(one.search.pools[one.name])

    monkeypatch.setattr(op_proposals, "INDEPENDENT_FROM", 2)
    monkeypatch.setattr(IndependentOps, "measure", prefer_another)
    proposals = propose(program(TWICE, "twice"), model)
    first = next(proposals)
    assert proposals.send(1e-3) != first
    proposals.close()
    ops = opened(open_program(program(TWICE, "twice")))[1]
    pool = OpSearch(ops, model).pools["matmul#1"]
    sketch = last_sketch(pool).sketch
    assert sketch
    for site in ("matmul#1", "matmul#2"):
        assert tuple(text for text in first if text.startswith(site)) == entries(ops[site], sketch)


def test_ops_are_measured_apart_until_a_last_network_fits_in(
    model: CostModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, asked = 100.0, list[float]()

    def measure_apart(apart: IndependentOps, seconds: float) -> None:
        nonlocal now
        asked.append(seconds)
        now += max(0.0, seconds)

    monkeypatch.setattr(op_proposals, "INDEPENDENT_FROM", 2)
    monkeypatch.setattr(op_proposals, "monotonic", lambda: now)
    monkeypatch.setattr(IndependentOps, "measure", measure_apart)
    proposals = propose(program(TWICE, "twice"), model, ends=200.0)
    next(proposals)
    assert asked == [pytest.approx(op_proposals.FIRST_SHARE * 100)]
    now += 10  # what the first network takes
    proposals.send(1e-3)
    assert now == pytest.approx(200 - op_proposals.RESERVE * 10)
    proposals.close()


def test_measured_schedules_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    found = list(islice(measure(small("matmul"), LANES, 3, 0), 3))
    path.write_text("".join(f"{line_of(one)}\n" for one in found))
    assert read_rows(path, MeasuredSketches) == found
    assert all(one.seconds > 0 for one in found)
    path.write_text('{"program": "matmul"}\n')
    with pytest.raises(InputError, match="not a measured schedule"):
        read_rows(path, MeasuredSketches)


def test_a_model_proposes_some_of_what_is_measured(model: CostModel) -> None:
    guided = list(measure(small("matmul"), LANES, 8, 0, model))
    best = OpSearch(opened(open_program(small("matmul")))[1], model).next()
    assert len(guided) == 8 and best
    assert best.sketches in [one.sketches for one in guided]


def test_policies_of_another_task_are_refused() -> None:
    with pytest.raises(InputError):
        op_proposals.load_for(Path(SHIPPED / "loop_nests-seconds-avx2.npz"), load_task("mlir_schedules"))
