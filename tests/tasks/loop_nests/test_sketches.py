"""Sketches are schedules: the actions that are named lead to the loops that are meant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.trace import split_entry
from burnish.tasks.loop_nests import actions, sketches
from burnish.tasks.loop_nests.boxes import tile_depth
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.families import FAMILIES, find
from burnish.tasks.loop_nests.features import COLUMNS, Featurizer
from burnish.tasks.loop_nests.kernel import Bench, CodeTooLong, CompiledNest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.sketches import (
    Level,
    Sketch,
    simplified,
    trace_of,
    without_idle_copies,
)
from burnish.tasks.loop_nests.tiles import MOST_LINES, emitted_lines, tile_of
from burnish.tasks.loop_nests.tree import Tree, naive
from burnish.tasks.loop_nests.variation import vary, vectors_of_row
from burnish.tasks.tensors.machine import host
from tests.tasks.loop_nests.nests import chains, features, small, tree_of

PRODUCT = parse("f32 m=12 n=64 k=8\nc[m,n] += a[m,k] * b[k,n]")
TILED = Sketch(
    (
        (
            Level("n", 32),
            Level("m", 6, packs=("a",)),
            Level("k", 1),
            Level("m", 1, "unroll"),
            Level("n", 1, "vectorize"),
        ),
    ),
    (0,),
)


def replayed(tree: Tree, trace: tuple[str, ...]) -> Tree:
    for text in trace:
        site, action = split_entry(text)
        assert action in actions.ACTIONS
        after = actions.apply(tree, action, tree.places[site])
        assert after is not None, text
        tree = after
    return tree


def test_a_tile_by_hand() -> None:
    made = trace_of(PRODUCT, TILED)
    assert made
    trace, tree = made
    assert (
        str(tree)
        == str(tree_of(PRODUCT, TILED))
        == """\
for n in 2
  for m in 2 [pack a]
    for k in 8
      for m.1 in 6 [unroll]
        for n.1 in 32 [vectorize]
          c[m,n] += a[m,k] * b[k,n]"""
    )
    assert sorted(split_entry(text)[1] for text in trace) == sorted(
        ["split(6)", "split(32)", *["swap_down"] * 4, "unroll", "vectorize", "pack(0)"]
    )
    assert replayed(naive(PRODUCT), trace) == tree


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=20)  # of five sketches each
@given(seed=st.integers(0, 2**32 - 1), vector_bytes=st.sampled_from([16, 32, 64]))
def test_what_is_drawn_and_varied_is_what_its_actions_make(family: str, seed: int, vector_bytes: int) -> None:
    nest, rng = small(family), np.random.default_rng(seed)
    sketch = draw(nest, vector_bytes, rng)
    for _ in range(5):
        rows = features(tree_of(nest, sketch), vector_bytes)
        assert np.isfinite(rows).all()
        np.testing.assert_array_equal(Featurizer(nest, vector_bytes).of_sketch(sketch), rows)
        made = trace_of(nest, sketch)
        if made:
            trace, tree = made
            assert tree == tree_of(nest, sketch)
            for number, loops, shared in chains(tree.roots, (), 0):
                tiles = [bool(tile_of(nest, loop)) for loop in loops]
                assert tile_depth(nest.statements[number], loops, shared) == [*tiles, True].index(True)
            assert replayed(naive(nest), trace) == tree
        sketch = vary(nest, sketch, vector_bytes, rng)


@pytest.mark.parametrize("family", FAMILIES)
def test_most_of_what_is_drawn_is_legal_and_right(family: str) -> None:
    nest, rng = small(family), np.random.default_rng(0)
    bench, made = Bench(nest), [trace_of(nest, draw(nest, host().vector_bytes, rng)) for _ in range(40)]
    legal = [found[1] for found in made if found]
    assert len(legal) >= 16
    for tree in legal[:3]:
        try:
            bench.check(CompiledNest(tree, host()))
        except CodeTooLong:
            continue


@pytest.mark.parametrize("family", FAMILIES)
def test_features_are_numbers_of_each_statement(family: str) -> None:
    nest, rng = small(family), np.random.default_rng(0)
    featurize = Featurizer(nest, 32)
    for _ in range(20):
        tree = tree_of(nest, draw(nest, 32, rng))
        rows = featurize.rows(chains(tree.roots, (), 0))
        assert rows.shape == (len(nest.statements), len(COLUMNS))
        assert np.isfinite(rows).all()
        np.testing.assert_array_equal(rows, features(tree, 32))


def test_features_of_a_tile_by_hand() -> None:
    """6 rows of 2 vectors: 12 values, from 2 vectors of b and 6 numbers of a each time."""
    row = dict(zip(COLUMNS, features(tree_of(PRODUCT, TILED), 64)[0].tolist(), strict=True))
    expected = {
        "lanes": 4,
        "iterations": np.log2(12 * 64 * 8),
        "reads": 2,
        "loops": 5,
        "vectors of a row": 2,
        "lanes in use": 1,
        "rows in use": 1,
        "reads beside each other": 1,
        "reads of one for all lanes": 1,
        "values of the tile": np.log2(12),
        "registers": 14 / 32,
        "operations of the body": np.log2(12),
        "vector loads of an operation": 2 / 12,
        "other loads of an operation": 6 / 12,
        "iterations in registers": 3,
        "target is read again": 0,
        "copies": 1,
        # 6 * 8 elements of a, 4 times
        "copied elements of an operation": np.log2(6 * 8 * 4 / (12 * 64 * 8 * 2)),
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_loads_that_rows_of_a_stencil_share_count_once() -> None:
    """Rows 0 to 3 of o and 0 to 2 of w read rows 0 to 5 of a, each at 3 places."""
    nest = find("stencil9:64x64")
    loops = [Level("y", 4), Level("x", 8), *(Level(name, 1, "unroll") for name in "ijy")]
    rows = Featurizer(nest, 32).of_sketch(Sketch(((*loops, Level("x", 1, "vectorize")),), (0,)))
    row = dict(zip(COLUMNS, rows[0].tolist(), strict=True))
    assert row["vector loads of an operation"] == pytest.approx(4 * 9 / 36)
    assert row["different vector loads of an operation"] == pytest.approx(6 * 3 / 36)
    assert row["different other loads of an operation"] == pytest.approx(9 / 36)


def test_lines_that_are_a_power_of_two_apart_share_sets() -> None:
    """The 256 rows of a column of b are 1024 bytes apart: 4 of 64 sets have 64 lines each.

    6 rows of a, 16 lines each, and those of c, one line each, are in these 4 places, too: 1.5 lines a set.
    """
    nest = find("matmul:256x256x256")
    loops = Level("m", 6), Level("n", 16), Level("k", 1), Level("m", 1, "unroll"), Level("n", 1, "vectorize")
    row = dict(zip(COLUMNS, Featurizer(nest, 32).of_sketch(Sketch((loops,), (0,)))[0].tolist(), strict=True))
    assert 2 ** row["lines of a set of cache 1"] == pytest.approx(64 + 1.5 + 1.5)


def test_traffic_is_that_of_the_loops_that_fit() -> None:
    """A product of 128 in 32 KiB, line by line.

    A row of a stays, a column of b is 128 lines for each of 128 * 128 elements of c.
    """
    nest = find("matmul:128x128x128")
    row = dict(zip(COLUMNS, features(naive(nest), 64)[0].tolist(), strict=True))
    assert 2 ** row["bytes into cache 2"] == pytest.approx(3 * 128 * 128 * 4, rel=1e-4)
    expected = 128 * 128 * 4 + 128**3 * 64 + 128 * 128 * 64
    assert 2 ** row["bytes into cache 1"] == pytest.approx(expected, rel=1e-4)


def test_a_contraction_of_many_indices_is_a_product() -> None:
    nest = find("contraction-ab:4x3x2x5x3x2")
    trace, simple = simplified(nest)
    assert str(simple) == "f32 ab=12 ef=6 cd=10\no[ab,ef] += x[ab,cd] * y[cd,ef]\n"
    assert replayed(naive(nest), trace) == naive(simple)
    assert simplified(find("matmul:4x3x2")) == ((), find("matmul:4x3x2"))


@pytest.mark.parametrize("family", FAMILIES)
def test_fewer_iterators_mean_the_same(family: str) -> None:
    nest = small(family)
    trace, simple = simplified(nest)
    tree = replayed(naive(nest), trace)
    assert tree.nest == simple
    assert simple.flops == nest.flops
    Bench(nest).check(CompiledNest(tree, host()))


def test_copies_of_what_is_read_once_are_left_out() -> None:
    """Below `k` each element of y is read for all m, and one of x for the only n."""
    nest = parse("f32 m=12 n=1 k=64\nc[m,n] += x[m,k] * y[k,n]")
    loops = Level("m", 12), Level("k", 8, packs=("x", "y")), Level("k", 1), Level("m", 1, "unroll")
    ((_, below, *_),) = without_idle_copies(nest, Sketch((loops,), (0,))).loops
    assert below == Level("k", 8, packs=("y",))
    assert without_idle_copies(PRODUCT, TILED) == TILED


def test_no_copy_is_drawn_that_is_read_once() -> None:
    nest, rng = parse("f32 m=1 n=96 k=64\nc[m,n] += a[m,k] * b[k,n]"), np.random.default_rng(0)
    sketch = draw(nest, 32, rng)
    for _ in range(100):
        assert without_idle_copies(nest, sketch) == sketch
        sketch = vary(nest, sketch, 32, rng)


def test_variations_have_rows_of_few_vectors() -> None:
    """8 vectors of 4 numbers, or 16 where a sum is waited for; draw() makes no wider ones."""
    for text, most in (("o[i,j] = 2 * a[i,j]", 8), ("o[i] += a[i,j]", 16)):
        nest, rng = parse(f"f64 i=500 j=1000\n{text}"), np.random.default_rng(0)
        sketch, widest = draw(nest, 32, rng), 0
        for _ in range(300):
            sketch = vary(nest, sketch, 32, rng)
            widest = max(widest, *(vectors_of_row(nest, loops, 32) for loops in sketch.loops))
        assert 0 < widest <= most


def test_a_sketch_whose_code_is_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop has a tail, whose body has the tails of all loops in it, and so on."""
    loops = [Level("m", 12), Level("n", 64), Level("m", 6), Level("k", 96), Level("n", 32), Level("k", 8)]
    loops += [Level("k", 1, "unroll"), Level("m", 1, "unroll"), Level("n", 1, "vectorize")]
    sketch = Sketch((tuple(loops),), (0,))
    nest = parse("f32 m=139 n=511 k=749\nc[m,n] += a[m,k] * b[k,n]")
    lines = emitted_lines(tree_of(nest, sketch), 10**6)
    assert lines > MOST_LINES
    assert trace_of(nest, sketch) is None
    monkeypatch.setattr(sketches, "MOST_LINES", lines)
    assert trace_of(nest, sketch)
