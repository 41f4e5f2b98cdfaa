"""Kernels compute what NumPy does, whatever arrays come, and say what is wrong with those that do not fit."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from burnish import loops
from burnish.core.errors import InputError, UnknownName
from burnish.loops import CompiledKernel
from burnish.tasks.loop_nests.api.compilation import read
from burnish.tasks.loop_nests.api.kernel import worth_aligning
from burnish.tasks.loop_nests.api.schedule import Schedule, follow

M, N, K = 7, 9, 5
SOFTMAX = """
h[m] max= a[m,n]
e[m,n] = exp(a[m,n] - h[m])
s[m] += e[m,n]
o[m,n] = e[m,n] / s[m]
"""


@pytest.fixture(scope="module")
def product() -> CompiledKernel:
    return loops.compile("c[m,n] += a[m,k] * b[k,n]", m=M, n=N, k=K, policy="none", cache=False)


@pytest.fixture(scope="module")
def softmax() -> CompiledKernel:
    return loops.compile(SOFTMAX, m=M, n=N, dtype="f64", policy="none", cache=False)


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


A, B = random(M, K), random(K, N, seed=1)


class OnlyDLPack:
    """An array of another package."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda product: product(A, B), id="in order"),
        pytest.param(lambda product: product(b=B, a=A), id="by name"),
        pytest.param(lambda product: product(A, b=B), id="both"),
        pytest.param(lambda product: product(OnlyDLPack(A), OnlyDLPack(B)), id="DLPack"),
        pytest.param(lambda product: product(np.asfortranarray(A), B), id="Fortran order"),
        pytest.param(lambda product: product(np.repeat(A, 2, axis=0)[::2], B[:, ::1]), id="strided"),
        pytest.param(lambda product: product(unaligned(A), B), id="unaligned"),
        pytest.param(lambda product: product(read_only(A), B), id="read-only input"),
    ],
)
def test_product_is_numpys(product: CompiledKernel, call: Callable[[CompiledKernel], Any]) -> None:
    found = call(product)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, A @ B, rtol=1e-6)


def test_tensors_of_torch_are_read_in_place(product: CompiledKernel) -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(product(torch.tensor(A), torch.tensor(B)), A @ B, rtol=1e-6)
    out = torch.empty((M, N))
    assert product(A, B, out=out) is out
    np.testing.assert_allclose(out.numpy(), A @ B, rtol=1e-6)


def test_out_is_written_and_returned(product: CompiledKernel) -> None:
    out = np.full((M, N), np.nan, dtype=np.float32)
    assert product(A, B, out=out) is out
    np.testing.assert_allclose(out, A @ B, rtol=1e-6)
    named = {"c": np.empty_like(out)}
    assert product(A, B, out=named) is named
    np.testing.assert_array_equal(named["c"], out)


def test_several_statements_are_one_kernel(softmax: CompiledKernel) -> None:
    a = A.astype(np.float64)[:, :1] + np.linspace(0, 3, N)
    expected = np.exp(a) / np.exp(a).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax(a), expected, rtol=1e-12)
    assert (list(softmax.inputs), list(softmax.outputs)) == (["a"], ["o"])


def test_several_outputs_come_by_name() -> None:
    lines = ["low[m] min= a[m,k]", "high[m] max= a[m,k]"]
    kernel = loops.compile(lines, m=M, k=K, policy="none", cache=False)
    found = kernel(A)
    np.testing.assert_array_equal(found["low"], A.min(axis=1))
    np.testing.assert_array_equal(found["high"], A.max(axis=1))
    with pytest.raises(InputError, match="expected a dict of arrays: low, high"):
        kernel(A, out=np.empty(M, dtype=np.float32))
    with pytest.raises(InputError, match="high is missing"):
        kernel(A, out={"low": np.empty(M, dtype=np.float32)})


def test_a_sum_of_all_has_no_dimensions() -> None:
    kernel = loops.compile("s[] += a[m,k]", m=M, k=K, policy="none", cache=False)
    assert kernel(A).shape == ()
    assert kernel(A) == pytest.approx(A.sum(), rel=1e-6)


WRONG = [
    ((A,), {}, InputError, "b is missing; expected a, b"),
    ((A, B, B), {}, InputError, "3 arrays; expected 2: a, b"),
    ((A, B), {"a": A}, InputError, "a is given twice"),
    ((A,), {"bb": B}, InputError, "b is missing"),
    ((A, B), {"bb": B}, UnknownName, "no input named 'bb'; did you mean 'b'"),
    ((A.T, B), {}, InputError, r"a has the shape \(5, 7\); expected \(7, 5\)"),
    ((A[0], B), {}, InputError, r"a has the shape \(5,\)"),
    ((A.astype(float), B), {}, InputError, "a has the dtype float64; expected float32"),
    ((A.astype(">f4"), B), {}, InputError, "a has the dtype >f4; expected float32"),
    ((A.tolist(), B), {}, InputError, "a is a list; expected an array"),
    ((None, B), {}, InputError, "a is a NoneType"),
    ((A, B), {"out": np.empty((N, M), dtype=np.float32)}, InputError, r"c has the shape \(9, 7\)"),
    ((A, B), {"out": np.empty((M, N))}, InputError, "c has the dtype float64"),
    ((A, B), {"out": np.empty((N, M), dtype=np.float32).T}, InputError, "c is not C-contiguous"),
    ((A, B), {"out": [[0.0]]}, InputError, "c is a list"),
    ((A, B), {"out": {"d": A}}, UnknownName, "no output named 'd'"),
    ((A, B), {"out": {}}, InputError, "out: c is missing"),
]


@pytest.mark.parametrize(("inputs", "named", "error", "match"), WRONG)
def test_what_does_not_fit_is_named(
    product: CompiledKernel, inputs: Any, named: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        product(*inputs, **named)


def test_outputs_that_cannot_be_written_are_left_alone(product: CompiledKernel) -> None:
    out = read_only(np.zeros((M, N), dtype=np.float32))
    with pytest.raises(InputError, match="c is read-only"):
        product(A, B, out=out)
    assert not out.any()


def test_outputs_have_memory_of_their_own() -> None:
    kernel = loops.compile("c[m] = a[m] + b[m]", m=8, policy="none", cache=False)
    memory = np.arange(16, dtype=np.float32)
    before = memory.copy()
    for start in (0, 1, 7):
        with pytest.raises(InputError, match="c shares memory with another argument"):
            kernel(memory[:8], memory[8:], out=memory[start : start + 8])
    np.testing.assert_array_equal(memory, before)
    kernel(memory[:4].repeat(2), memory[8:], out=memory[:8])  # beside each other is fine
    kernel(memory[8:], memory[8:])  # and so is the same input twice


def test_arrays_are_given_back(product: CompiledKernel) -> None:
    a, out = A.copy(), np.empty((M, N), dtype=np.float32)
    for _ in range(100):
        product(a, B, out=out)
        with pytest.raises(InputError):
            product(a, B[:1], out=out)
    held = sys.getrefcount(a), sys.getrefcount(out)
    assert max(held) < 50  # a leak adds a hundred; coverage may hold some for a while


def test_threads_have_working_memory_of_their_own() -> None:
    kernel = loops.compile(SOFTMAX, m=64, n=64, policy="none", cache=False)
    arrays = [random(64, 64, seed=seed) * 10 for seed in range(8)]
    alone = [kernel(array) for array in arrays]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for found, expected in zip(pool.map(kernel, arrays), alone, strict=True):
                np.testing.assert_array_equal(found, expected)


def test_inputs_are_right_wherever_they_begin() -> None:
    nest = read("c[m,n] += a[m,k] * b[k,n]", "f32", {"m": 64, "n": 48, "k": 64})
    kernel = CompiledKernel(nest, Schedule(("n: swap_down", "n: vectorize")))
    assert worth_aligning(kernel.tree) == {"b"}
    a, b = random(64, 64), random(64, 48, seed=1)
    for offset in range(0, 64, 4):
        memory = np.empty(b.nbytes + 128, dtype=np.uint8)
        start = -memory.ctypes.data % 64 + offset
        moved = memory[start : start + b.nbytes].view(np.float32).reshape(b.shape)
        moved[...] = b
        np.testing.assert_allclose(kernel(a, moved), a @ b, rtol=1e-5)


@pytest.mark.parametrize(
    ("statement", "extents", "trace", "expected"),
    [
        ("c[m,n] += a[m,k] * b[k,n]", {"m": 64, "n": 64, "k": 64}, (), set()),  # no vectors
        ("c[m,n] += a[m,k] * b[k,n]", {"m": 64, "n": 64, "k": 64}, ("n: swap_down", "n: vectorize"), {"b"}),
        ("c[m,n] += a[m,k] * b[k,n]", {"m": 8, "n": 64, "k": 64}, ("n: swap_down", "n: vectorize"), set()),
        ("c[m,n] += a[m,k] * b[k,n]", {"m": 64, "n": 60, "k": 64}, ("n: swap_down", "n: vectorize"), set()),
        ("c[m,n] += a[m,k] * b[n,k]", {"m": 64, "n": 64, "k": 64}, ("n: swap_down", "n: vectorize"), set()),
        ("c[n] = a[n] * b[n]", {"n": 1024}, ("n: vectorize",), set()),  # each element once
    ],
)
def test_a_copy_has_to_be_worth_it(
    statement: str, extents: dict[str, int], trace: tuple[str, ...], expected: set[str]
) -> None:
    assert worth_aligning(follow(read(statement, "f32", extents), trace)) == expected


def test_a_pickled_kernel_is_the_same(product: CompiledKernel) -> None:
    copy = pickle.loads(pickle.dumps(product))
    assert copy.schedule == product.schedule
    np.testing.assert_array_equal(copy(A, B), product(A, B))


def unaligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy that begins one byte behind a multiple of its element's size."""
    memory = np.empty(array.nbytes + 1, dtype=np.uint8)
    copy: np.ndarray[Any, Any] = memory[1:].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
