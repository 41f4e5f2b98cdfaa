"""What NumPy makes of a program is what its operations say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("torch_mlir")

from burnish.core.errors import ProgramError
from burnish.tasks.mlir_schedules.reference.evaluate import TensorType, evaluate, signature
from tests.tasks.mlir_schedules.written import Shape, generic, named, program

Array = NDArray[Any]

TRANSPOSED = """indexing_maps = [
  affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]"""
CYCLIC = """indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c)>,
  affine_map<(a, b, c, d) -> (c, a, d)>, affine_map<(a, b, c, d) -> (b, d)>]"""
GENERATED = """%r = tensor.generate {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<4xf32>"""
LOWEST = "0xFF800000"


def drawn(shapes: Sequence[Shape], seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def assert_computes(text: str, inputs: Sequence[Array], expected: Array) -> None:
    (found,) = evaluate(text, inputs)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("op", "shapes", "output", "notation", "attributes"),
    [
        ("matmul", [(5, 7), (7, 3)], (5, 3), "mk,kn->mn", ""),
        ("batch_matmul", [(2, 5, 7), (2, 7, 3)], (2, 5, 3), "bmk,bkn->bmn", ""),
        ("matvec", [(5, 7), (7,)], (5,), "mk,k->m", ""),
        ("vecmat", [(5,), (5, 3)], (3,), "k,kn->n", ""),
        ("dot", [(5,), (5,)], (), "k,k->", ""),
        ("batch_reduce_matmul", [(2, 5, 7), (2, 7, 3)], (5, 3), "bmk,bkn->mn", ""),
        ("matmul", [(5, 7), (3, 7)], (5, 3), "mk,nk->mn", TRANSPOSED),
        ("contract", [(3, 4, 5), (5, 3, 2)], (4, 2), "abc,cad->bd", CYCLIC),
    ],
)
def test_contractions_are_einsums(
    op: str, shapes: list[Shape], output: Shape, notation: str, attributes: str
) -> None:
    inputs = drawn(shapes)
    assert_computes(named(op, shapes, output, "0.5", attributes), inputs, 0.5 + np.einsum(notation, *inputs))


def convolved(image: Array, weights: Array, stride: int, dilation: int) -> Array:
    """Return NHWC by HWCF, by the definition."""
    count, height, width, _ = image.shape
    rows, columns, _, filters = weights.shape
    high = (height - (rows - 1) * dilation - 1) // stride + 1
    wide = (width - (columns - 1) * dilation - 1) // stride + 1
    out = np.zeros((count, high, wide, filters))
    for i, j in np.ndindex(rows, columns):
        top, left = i * dilation, j * dilation
        part = image[:, top : top + stride * high : stride, left : left + stride * wide : stride]
        out += part[:, :high, :wide] @ weights[i, j]
    return out


def window(stride: int, dilation: int) -> str:
    return f"{{dilations = dense<{dilation}> : tensor<2xi64>, strides = dense<{stride}> : vector<2xi64>}}"


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(*[st.integers(1, 3)] * 5),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from(["nhwc", "nchw"]),
)
def test_convolutions_move_a_window(
    sizes: tuple[int, int, int, int, int], stride: int, dilation: int, layout: str
) -> None:
    count, channels, filters, rows, columns = sizes
    image, weights = drawn([(count, 8, 9, channels), (rows, columns, channels, filters)])
    expected = convolved(image, weights, stride, dilation)
    if layout == "nchw":
        image, weights = image.transpose(0, 3, 1, 2), weights.transpose(3, 2, 0, 1)
        expected = expected.transpose(0, 3, 1, 2)
    op = {"nhwc": "conv_2d_nhwc_hwcf", "nchw": "conv_2d_nchw_fchw"}[layout]
    text = named(op, [image.shape, weights.shape], expected.shape, attributes=window(stride, dilation))
    assert_computes(text, [image, weights], expected)


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_depthwise_convolutions_keep_channels_apart(stride: int, dilation: int) -> None:
    image, weights = drawn([(2, 8, 9, 3), (3, 2, 3)])
    parts = [
        convolved(image[..., i : i + 1], weights[..., i][..., None, None], stride, dilation) for i in range(3)
    ]
    expected = np.concatenate(parts, axis=-1)
    shapes = [image.shape, weights.shape]
    text = named("depthwise_conv_2d_nhwc_hwc", shapes, expected.shape, attributes=window(stride, dilation))
    assert_computes(text, [image, weights], expected)


@pytest.mark.parametrize(
    ("op", "start", "combine"),
    [("max", LOWEST, np.max), ("sum", "0.0", np.sum), ("min", "0x7F800000", np.min)],
)
def test_pooling_combines_a_window(op: str, start: str, combine: Callable[..., Array]) -> None:
    (image,) = drawn([(2, 6, 8, 3)])
    expected = combine(image.reshape(2, 3, 2, 4, 2, 3), axis=(2, 4))
    text = named(f"pooling_nhwc_{op}", [image.shape, (2, 2)], expected.shape, start, window(2, 1))
    assert_computes(text, [image, np.full((2, 2), np.nan)], expected)


ELEMENTWISE: dict[str, Callable[[Array], Array]] = {
    "math.exp": np.exp,
    "math.tanh": np.tanh,
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.log": np.log,
    "math.absf": np.abs,
    "math.erf": np.vectorize(math.erf),
    "arith.negf": np.negative,
}


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_functions_are_of_each_element(op: str) -> None:
    values = np.abs(drawn([(3, 4)])[0]) + 0.1
    assert_computes(generic((3, 4), f"%y = {op} %x : f32"), [values], ELEMENTWISE[op](values))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [("ogt", [0, 0, 1, 0]), ("ugt", [0, 0, 1, 1]), ("ole", [1, 1, 0, 0]), ("une", [1, 0, 1, 1])],
)
def test_comparisons_know_what_is_no_number(predicate: str, expected: list[float]) -> None:
    body = f"%b = arith.cmpf {predicate}, %x, %zero : f32\n    %y = arith.uitofp %b : i1 to f32"
    assert_computes(generic((4,), body), [np.array([-1, 0, 1, np.nan])], np.array(expected, dtype=float))


def test_indices_of_loops_are_values() -> None:
    body = (
        "%i = linalg.index 0 : index\n    %j = linalg.index 1 : index\n    %s = arith.addi %i, %j : index\n"
        "    %n = arith.index_cast %s : index to i32\n    %f = arith.sitofp %n : i32 to f32\n"
        "    %y = arith.mulf %f, %x : f32"
    )
    (values,) = drawn([(3, 4)])
    assert_computes(generic((3, 4), body), [values], values * np.add.outer(np.arange(3), np.arange(4)))


def test_reductions_in_any_other_form_are_done_in_turn() -> None:
    """The largest element by comparison and choice, and where it is."""
    text = """func.func @main(%a: tensor<3x5xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %low = arith.constant 0xFF800000 : f32
      %e = tensor.empty() : tensor<3xf32>
      %f = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
      %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
          affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
          ins(%a : tensor<3x5xf32>) outs(%f, %f : tensor<3xf32>, tensor<3xf32>) {
      ^bb0(%x: f32, %o: f32, %p: f32):
        %j = linalg.index 1 : index
        %n = arith.index_cast %j : index to i64
        %g = arith.sitofp %n : i64 to f32
        %b = arith.cmpf ogt, %x, %o : f32
        %y = arith.select %b, %x, %o : f32
        %z = arith.select %b, %g, %p : f32
        linalg.yield %y, %z : f32, f32
      } -> (tensor<3xf32>, tensor<3xf32>)
      return %r#0, %r#1 : tensor<3xf32>, tensor<3xf32>
    }"""
    (values,) = drawn([(3, 5)])
    largest, place = evaluate(text, [values])
    assert largest.tolist() == values.max(axis=1).tolist()
    assert place.tolist() == values.argmax(axis=1).tolist()


def test_softmax_and_layouts() -> None:
    (values,) = drawn([(2, 3, 4)])
    powers = np.exp(values)
    text = program(
        [(2, 3, 4)],
        (4, 2, 3),
        """%e = tensor.empty() : tensor<2x3x4xf32>
  %s = linalg.softmax dimension(1) ins(%a0 : tensor<2x3x4xf32>) outs(%e : tensor<2x3x4xf32>)
    -> tensor<2x3x4xf32>
  %t = tensor.empty() : tensor<4x2x3xf32>
  %r = linalg.transpose ins(%s : tensor<2x3x4xf32>) outs(%t : tensor<4x2x3xf32>) permutation = [2, 0, 1]""",
    )
    expected = powers / powers.sum(axis=1, keepdims=True)
    assert_computes(text, [values], expected.transpose(2, 0, 1))


def test_reshapes_slices_and_padding() -> None:
    text = program(
        [(6, 4)],
        (7, 6),
        """%x = tensor.expand_shape %a0 [[0, 1], [2]] output_shape [2, 3, 4]
    : tensor<6x4xf32> into tensor<2x3x4xf32>
  %s = tensor.extract_slice %x[1, 0, 1] [1, 2, 2] [1, 2, 2] : tensor<2x3x4xf32> to tensor<2x2xf32>
  %i = tensor.insert_slice %s into %a0[1, 0] [2, 2] [3, 2] : tensor<2x2xf32> into tensor<6x4xf32>
  %c = tensor.collapse_shape %i [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  %y = tensor.expand_shape %c [[0, 1]] output_shape [6, 4] : tensor<24xf32> into tensor<6x4xf32>
  %two = arith.constant 2.0 : f32
  %r = tensor.pad %y low[1, 0] high[0, 2] {
  ^bb0(%p: index, %q: index):
    tensor.yield %two : f32
  } : tensor<6x4xf32> to tensor<7x6xf32>""",
    )
    (values,) = drawn([(6, 4)])
    expected = values.copy()
    expected[1::3, ::2] = values.reshape(2, 3, 4)[1, ::2, 1::2]
    assert_computes(text, [values], np.pad(expected, ((1, 0), (0, 2)), constant_values=2))


def test_signature_is_of_the_function() -> None:
    found = signature(named("matmul", [(5, 7), (7, 3)], (5, 3)))
    assert found.name == "main"
    assert found.inputs == (TensorType((5, 7), "f32"), TensorType((7, 3), "f32"))
    assert found.outputs == (TensorType((5, 3), "f32"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("module {", "expected"),
        ("module {}", "0 functions with a body; expected one"),
        (
            program([(4,)], (4,), GENERATED),
            "tensor.generate in .* is not supported; expected .*tensor.pad",
        ),
        (generic((4,), "%y = math.acosh %x : f32"), "math.acosh in .* is not supported; expected .*math.exp"),
    ],
)
def test_what_is_not_known_is_named(text: str, said: str) -> None:
    with pytest.raises(ProgramError, match=said):
        evaluate(text, [np.zeros(4)])


def test_inputs_of_other_shapes_are_refused() -> None:
    with pytest.raises(ProgramError, match=r"inputs of the shapes \[\(3,\)\]; expected \[\(4,\)\]"):
        evaluate(generic((4,), "", "%x"), [np.zeros(3)])
