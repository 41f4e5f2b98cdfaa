"""What a program is said to take, its inputs, and how far rounding may take its outputs."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch_mlir")

from burnish.tasks.mlir_schedules.reference.evaluate import evaluate
from burnish.tasks.mlir_schedules.reference.inputs import inputs_of
from burnish.tasks.mlir_schedules.reference.work import flops, tolerance
from tests.tasks.mlir_schedules.written import generic, named


def test_operations_are_counted() -> None:
    assert flops(named("matmul", [(5, 7), (7, 3)], (5, 3))) == 2 * 5 * 7 * 3
    assert (
        flops(generic((3, 4), "%b = arith.cmpf ugt, %x, %zero : f32\n%y = arith.select %b, %x, %zero : f32"))
        == 12
    )
    assert flops(generic((3, 4), "", "%x")) == 0


def test_tolerance_grows_with_sums_and_is_tight_without() -> None:
    plain = tolerance(generic((3, 4), "%y = arith.addf %x, %x : f32"))
    short, long = (tolerance(named("matmul", [(5, k), (k, 3)], (5, 3))) for k in (16, 1_000_000))
    assert plain < 1e-6 < short * 10 < long < 2e-3
    assert tolerance(generic((3, 4), "%y = arith.addf %x, %x : f32"), "f64") < 1e-14


def test_rounding_of_floats_is_within_the_tolerance() -> None:
    text = named("matmul", [(64, 512), (512, 64)], (64, 64))
    one, other = inputs_of(text)
    (expected,) = evaluate(text, [one, other])
    total = np.zeros((64, 64), dtype=np.float32)
    for k in range(512):  # one after the other, as a plain loop adds them
        total += one[:, k, None] * other[k]
    error = np.abs(total - expected).max() / (1 + np.abs(expected).max())
    assert 0 < error < tolerance(text)


def test_inputs_are_those_of_the_text_and_aligned() -> None:
    text = named("matmul", [(5, 16), (16, 3)], (5, 3))
    one, other = inputs_of(text)
    assert one.dtype == other.dtype == np.float32
    assert [array.shape for array in (one, other)] == [(5, 16), (16, 3)]
    assert all(array.ctypes.data % 64 == 0 for array in (one, other))
    assert np.array_equal(one, inputs_of(text)[0])
    assert not np.array_equal(one, inputs_of(text + "\n")[0])
    assert 0.5 <= np.abs(one).min() <= np.abs(one).max() <= 1.5
    assert {-1, 1} == set(np.sign(one).flat)
    assert 0.125 <= np.abs(other).min() <= np.abs(other).max() <= 0.375  # smaller by the root of 16


def test_what_has_a_root_taken_of_it_is_positive() -> None:
    body = "%c = arith.constant 0.1 : f32\n    %s = arith.addf %x, %c : f32\n    %y = math.rsqrt %s : f32"
    (values,) = inputs_of(generic((8, 8), body))
    assert values.min() >= 0.5
