"""Scheduled programs are functions of NumPy arrays, compared before they are returned."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch_mlir")

import burnish.schedules
from burnish.core.errors import IllegalAction, InputError, ProgramError
from burnish.schedules import ScheduledFunction, compile_schedule
from burnish.tasks.mlir_schedules.programs import MlirSource

TRACE = ("matmul#1: tile(0, 2)", "matmul#1: tile(1, 4)", "matmul#1: vectorize")
TWO = """
func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce ins(%a : tensor<4xf32>) outs(%f : tensor<f32>) dimensions = [0]
    (%x: f32, %y: f32) { %z = arith.addf %x, %y : f32  linalg.yield %z : f32 }
  return %a, %s : tensor<4xf32>, tensor<f32>
}
"""


@pytest.fixture(scope="module")
def product() -> ScheduledFunction:
    return compile_schedule("matmul:6x8x10", TRACE)


def drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


A, B = drawn(6, 10), drawn(10, 8)


def test_functions_compute_what_numpy_does(product: ScheduledFunction) -> None:
    np.testing.assert_allclose(product(A, B), A @ B, rtol=1e-5)
    assert product.trace == TRACE
    assert repr(product) == "<ScheduledFunction matmul:6x8x10 (6x10xf32, 10x8xf32) -> (6x8xf32), 3 steps>"


def test_results_begin_where_cache_lines_do(product: ScheduledFunction) -> None:
    assert all(product(A, B).ctypes.data % 64 == 0 for _ in range(8))


def test_programs_come_as_texts_names_and_programs() -> None:
    found = compile_schedule(MlirSource().load("add:2x4").program)
    np.testing.assert_array_equal(found(np.ones((2, 4), np.float32), np.ones((2, 4), np.float32)), 2)
    copy, total = compile_schedule(TWO)(np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(copy, [0, 1, 2, 3])
    assert total == 6 and total.shape == ()
    with pytest.raises(ProgramError, match="expected"):
        compile_schedule("func.func @main(%a: tensor<4xi8>) -> tensor<4xi8> { return %a : tensor<4xi8> }")
    with pytest.raises(IllegalAction):
        compile_schedule("add:2x4", ["add#0: pack(0, 1)"])


def test_outputs_can_be_given(product: ScheduledFunction) -> None:
    out = np.zeros((6, 8), dtype=np.float32)
    assert product(A, B, out=out) is out
    np.testing.assert_allclose(out, A @ B, rtol=1e-5)


def test_inputs_of_any_strides_and_owners_are_taken(product: ScheduledFunction) -> None:
    torch = pytest.importorskip("torch")
    wide = np.zeros((10, 16), dtype=np.float32)
    wide[:, ::2] = B
    frozen = A.copy()
    frozen.flags.writeable = False
    for one, other in ((A.T.copy().T, wide[:, ::2]), (frozen, torch.from_numpy(B))):
        np.testing.assert_allclose(product(one, other), A @ B, rtol=1e-5)


WRONG: dict[str, tuple[Callable[[ScheduledFunction], Any], str]] = {
    "number": (lambda f: f(A), "1 arrays; expected 2: 6x10xf32, 10x8xf32"),
    "shape": (lambda f: f(B, A), r"input 0 has the shape \(10, 8\); expected \(6, 10\)"),
    "dtype": (lambda f: f(A, B.astype(np.float64)), "input 1 has the dtype float64; expected float32"),
    "kind": (lambda f: f(A, [1, 2]), "input 1 is a list; expected an array of NumPy"),
    "shared": (lambda f: f(A[:, :], B, out=A.ravel()[:48].reshape(6, 8)), "output 0 shares memory"),
    "order": (lambda f: f(A, B, out=np.zeros((8, 6), np.float32).T), "output 0 is not C-contiguous"),
    "frozen": (lambda f: f(A, B, out=np.broadcast_to(np.float32(0), (6, 8))), "output 0 is read-only"),
    "outputs": (lambda f: f(A, B, out=[A, A]), "out: 2 arrays; expected 1"),
    "bound": (lambda f: f.bind(A), r"input 1 has the shape \(6, 10\); expected \(10, 8\)"),
    "bound more": (lambda f: f.bind(A, A, A), "3 arrays; expected 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_other_arguments_are_refused(product: ScheduledFunction, name: str) -> None:
    call, said = WRONG[name]
    with pytest.raises(InputError, match=said):
        call(product)


def test_inputs_that_stay_are_bound(product: ScheduledFunction) -> None:
    weights = B.copy()
    bound = product.bind(weights)
    weights[:] = 0  # they were copied
    np.testing.assert_allclose(bound(A), A @ B, rtol=1e-5)
    with pytest.raises(InputError, match="2 arrays; expected 1: 6x10xf32"):
        bound(A, B)


def test_threads_may_call_at_the_same_time(product: ScheduledFunction) -> None:
    expected = product(A, B)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda scale: product(scale * A, B) / scale, [1.0, 2.0, 4.0] * 50))
    assert all(np.array_equal(one, expected) for one in results)


def test_functions_are_pickled_as_schedules(product: ScheduledFunction) -> None:
    copy = pickle.loads(pickle.dumps(product))
    np.testing.assert_array_equal(copy(A, B), product(A, B))


def test_public_names_are_there() -> None:
    assert all(hasattr(burnish.schedules, name) for name in burnish.schedules.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = burnish.schedules.nothing
