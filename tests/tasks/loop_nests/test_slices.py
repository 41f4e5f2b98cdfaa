"""What of a large nest is compared with NumPy, and which errors that finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from burnish.core.errors import Miscompiled
from burnish.tasks.loop_nests.kernel import DIFFERENT, Bench, CompiledNest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.reference import evaluate
from burnish.tasks.loop_nests.slices import slices_of
from burnish.tasks.tensors.arrays import Array
from burnish.tasks.tensors.machine import host
from tests.tasks.loop_nests.test_lowering import scheduled

PRODUCT = "f32 m=1200 n=1000 k=500\nc[m,n] += a[m,k] * b[k,n]"
RELU = "f32 m=1200 n=1000 k=500\nc[m,n] += a[m,k] * b[k,n]\nr[m,n] = max(c[m,n] + s[n], 0)"


class Computed:
    """What a compiled product does, and something wrong."""

    def __init__(self, spoil: Callable[[Array, int], None], row: int) -> None:
        self.spoil, self.row = spoil, row

    def run(self, arrays: dict[str, Array]) -> None:
        np.matmul(arrays["a"], arrays["b"], out=arrays["c"])
        self.spoil(arrays["c"], self.row)


def check(bench: Bench, spoil: Callable[[Array, int], None], row: int) -> None:
    bench.check(cast(Any, Computed(spoil, row)))


def other_row(bench: Bench) -> int:
    """Return a row that is no slice."""
    assert bench.slices
    return next(row for row in range(200, 1200) if row not in bench.slices.chosen)


def test_small_nests_are_compared_as_a_whole() -> None:
    assert slices_of(parse(PRODUCT.replace("1200", "120"))) is None


@pytest.mark.parametrize(
    ("text", "iterator", "linear"),
    [
        (PRODUCT, "m", True),
        (RELU, "m", False),
        ("f64 y=60 x=60 f=160 c=128 i=3 j=3\no[y,x,f] += a[y+i,x+j,c] * w[i,j,c,f]", "f", True),
        ("f32 i=400 j=300 k=3000\nd[i,j] += (p[i,k] - q[j,k]) * (p[i,k] - q[j,k])", "i", False),
        ("f32 i=1200 j=1000 k=500\nd[i,j] max= p[i,k] * q[j,k]", "i", False),
    ],
)
def test_slices_are_of_an_index_by_itself(text: str, iterator: str, linear: bool) -> None:
    nest = parse(text)
    slices = slices_of(nest)
    assert slices
    assert (slices.iterator, slices.signs is not None) == (iterator, linear)
    extent = nest.extents[iterator]
    assert len(set(slices.chosen)) == len(slices.chosen)
    assert {0, 1, extent - 2, extent - 1} <= set(slices.chosen)


@pytest.mark.parametrize(
    "text",
    [
        "f32 i=1200 j=1200 k=500\ng[i,j] += x[k,i] * x[k,j]",  # slices of g are of two of x
        "f32 x=100000000 i=20\no[x] += a[x+i] * w[i]",
        "f32 m=60 n=60 k=200000\nc[m,n] += a[m,k] * b[k,n]",  # as few as there are
    ],
)
def test_nests_without_slices_are_compared_as_a_whole(text: str) -> None:
    assert slices_of(parse(text)) is None


def test_slices_are_a_small_part_of_the_work() -> None:
    nest = parse("f32 m=4096 n=4096 k=4096\nc[m,n] += a[m,k] * b[k,n]")
    slices = slices_of(nest)
    assert slices
    assert slices.nest.flops < nest.flops / 60


@pytest.mark.parametrize("text", [PRODUCT, RELU])
def test_slices_of_what_numpy_computes_are_what_it_computes_of_slices(text: str) -> None:
    bench = Bench(parse(text))
    assert bench.slices
    inputs = {name: bench.arrays[name].astype(np.float64) for name in bench.nest.inputs}
    whole = evaluate(bench.nest, inputs)
    part = evaluate(bench.slices.nest, {name: bench.slices.of(name, inputs[name]) for name in inputs})
    for name in bench.nest.outputs:
        np.testing.assert_allclose(bench.slices.of(name, whole[name]), part[name], atol=1e-9)


def test_what_is_right_passes() -> None:
    bench = Bench(parse(PRODUCT))
    check(bench, lambda c, row: None, 0)
    entries = ("n: swap_down", "n: split(32)", "n.1: vectorize")
    bench.check(CompiledNest(scheduled(PRODUCT, *entries), host()))
    assert "expected" not in vars(bench)  # nothing was compared as a whole


def unwritten(c: Array, row: int) -> None:
    c[row, 7] = np.nan


def one_element(c: Array, row: int) -> None:
    c[row, np.abs(c[row]).argmax()] *= -1


def next_row(c: Array, row: int) -> None:
    c[row] = c[row + 1]


@pytest.mark.parametrize("spoil", [unwritten, one_element, next_row])
def test_errors_anywhere_are_found_in_the_sum(spoil: Callable[[Array, int], None]) -> None:
    bench = Bench(parse(PRODUCT))
    with pytest.raises(Miscompiled, match=r"among the sum over m, with signs is .*, not "):
        check(bench, spoil, other_row(bench))


def a_little(c: Array, row: int) -> None:
    c[row, 999] += 0.05


@pytest.mark.parametrize("row", [0, 1199])
def test_small_errors_at_the_ends_are_found_in_slices(row: int) -> None:
    with pytest.raises(Miscompiled, match=r"among 64 slices of m is .*; 1 of 64000 elements differ"):
        check(Bench(parse(PRODUCT)), a_little, row)


def test_random_numbers_of_large_arrays_repeat_after_a_prime() -> None:
    nest = parse("f32 n=1200000\no[n] = 2 * x[n]")
    x = Bench(nest).arrays["x"]
    assert (x[:-DIFFERENT] == x[DIFFERENT:]).all()
    assert len(np.unique(x[:DIFFERENT])) > 0.9 * DIFFERENT
    assert all(DIFFERENT % divisor for divisor in range(2, 1001))
