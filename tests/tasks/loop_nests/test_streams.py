"""Statements that stream go through memory row by row."""

from __future__ import annotations

import numpy as np
import pytest

from burnish.tasks.loop_nests.boxes import LoopBoxes, StatementFacts
from burnish.tasks.loop_nests.families import find
from burnish.tasks.loop_nests.features import COLUMNS, Featurizer
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.sketches import Level, Sketch
from burnish.tasks.loop_nests.streams import FEW_ROWS, Stream, detour, far_rows, run_bytes, stream_of

STENCIL = parse("f64 i=1000 j=1200\no[i,j] = a[i,j] - 0.5*(h[i+1,j] - h[i,j])")
ROWS = Level("i", 1), Level("j", 16), Level("j", 1, "vectorize")
STRIPS = Level("j", 16), Level("i", 1), Level("j", 1, "vectorize")
BLOCKS = Level("i", 100), Level("j", 160), Level("i", 1), Level("j", 16), Level("j", 1, "vectorize")


def of(nest: Nest, *loops: Level) -> tuple[Stream, LoopBoxes]:
    facts = StatementFacts(nest, 0, 32)
    stream = stream_of(facts)
    assert stream
    return stream, LoopBoxes(facts, loops, 0)


def test_a_stencil_streams_along_its_rows() -> None:
    stream, _ = of(STENCIL, *ROWS)
    assert stream.order == ("j", "i")
    assert stream.large == {"o", "a", "h"}


@pytest.mark.parametrize(
    "name",
    [
        "stencil5:64x64",  # is in a core's own caches
        "matmul:1024x1024x1024",  # computes for most of its time
    ],
)
def test_other_nests_do_not_stream(name: str) -> None:
    assert stream_of(StatementFacts(find(name), 0, 32)) is None


def test_a_transposition_has_no_row_of_both() -> None:
    nest = parse("f32 i=1024 j=1024\no[i,j] = 2 * a[j,i]")
    assert stream_of(StatementFacts(nest, 0, 32)) is None


def test_a_matrix_counts_and_not_the_vector() -> None:
    stream, _ = of(parse("f32 m=1024 k=1024\nc[m] += a[m,k] * b[k]"), Level("m", 1), Level("k", 1))
    assert (stream.order, stream.large) == (("k", "m"), {"a"})


@pytest.mark.parametrize(
    ("loops", "expected"), [(ROWS, 1000 * 1200 * 8), (STRIPS, 16 * 8), (BLOCKS, 160 * 8)]
)
def test_a_run_ends_where_another_row_begins(loops: tuple[Level, ...], expected: int) -> None:
    assert run_bytes(*of(STENCIL, *loops)) == expected


def test_unrolled_rows_are_several_runs() -> None:
    """Of four rows of o and a each, and of five of h."""
    loops = Level("i", 4), Level("j", 8), Level("i", 1, "unroll"), Level("j", 1, "vectorize")
    stream, boxes = of(STENCIL, *loops)
    assert run_bytes(stream, boxes) == 1000 * 1200 * 8
    assert far_rows(stream, boxes) == 4 + 4 + 5


def test_rows_that_are_near_are_one_stream() -> None:
    """Columns of 32 channels: a row of o and three rows of a."""
    nest = find("depthwise:112x112x32")
    loops = *(Level(name, 1) for name in "yxij"), Level("c", 1, "vectorize")
    assert far_rows(*of(nest, *loops)) == 4


def test_detours_cost_what_they_are() -> None:
    many = Level("i", 16), Level("j", 4), Level("i", 1, "unroll"), Level("j", 1, "vectorize")
    costs = [detour(*of(STENCIL, *loops)) for loops in (ROWS, STRIPS, BLOCKS, many)]
    assert costs == pytest.approx([0, 1, 1, 0.5 * np.log2((16 + 16 + 17) / FEW_ROWS)])
    rows = Featurizer(STENCIL, 32).of_sketch(Sketch((STRIPS,), (0,)))
    assert rows[0][COLUMNS.index("detour through memory")] == 1
