"""Programs by name and extents: each is valid, of the form of the task, and computes what its name says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.mlir_schedules.reading import normal_text
from burnish.tasks.mlir_schedules.reference.evaluate import evaluate, signature
from burnish.tasks.mlir_schedules.writing import sets
from burnish.tasks.mlir_schedules.writing.draft import Draft, Window
from burnish.tasks.mlir_schedules.writing.families import FAMILIES, OF_BATCHES, find

Array = NDArray[Any]
COMPUTE = {  # what programs have beside fills
    "matmul": ["matmul"],
    "matmul-bias-relu": ["matmul", "generic", "generic"],
    "attention": ["batch_matmul", "generic", "softmax", "batch_matmul"],
    "conv2d": ["conv_2d_nhwc_hwcf"],
    "conv2d-nchw": ["conv_2d_nchw_fchw"],
    "depthwise": ["depthwise_conv_2d_nhwc_hwc"],
    "maxpool": ["pooling_nhwc_max"],
    "sumpool": ["pooling_nhwc_sum"],
    "add": ["add"],
    "relu": ["generic"],
    "layer-norm": ["generic"] * 4,
    "transpose": ["transpose"],
}


def ops(text: str) -> list[str]:
    """Return the linalg ops of a program, but for fills."""
    return [op for op in re.findall(r"= linalg\.(\w+)", text) if op != "fill"]


def types(text: str) -> str:
    """Return the function's line of a normal text, without names of arguments."""
    (line,) = (line for line in text.splitlines() if "func.func" in line)
    return re.sub(r"%arg\d+: |f32", "", line.strip().removesuffix(" {"))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_shape_of_a_family_is_a_program(family: str) -> None:
    names = sets.names(family)
    assert len(names) >= 10
    for name in (names[0], names[len(names) // 2], names[-1]):
        text = normal_text(find(name), name)
        assert "?" not in text and "dense<" not in text.replace("dense<1>", "").replace("dense<2>", "")
        assert ops(text) == COMPUTE.get(family, ops(text))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul:2x3x5", "(tensor<2x5x>, tensor<5x3x>) -> tensor<2x3x>"),
        ("matmul-at:2x3x5", "(tensor<5x2x>, tensor<5x3x>) -> tensor<2x3x>"),
        ("matmul-bt:2x3x5", "(tensor<2x5x>, tensor<3x5x>) -> tensor<2x3x>"),
        ("batch-matmul:7x2x3x5", "(tensor<7x2x5x>, tensor<7x5x3x>) -> tensor<7x2x3x>"),
        ("mlp:2x3x4x5", "(tensor<2x3x>, tensor<3x4x>, tensor<4x>, tensor<4x5x>, tensor<5x>) -> tensor<2x5x>"),
        ("conv2d:5x6x8x4", "(tensor<1x7x8x4x>, tensor<3x3x4x8x>) -> tensor<1x5x6x8x>"),
        ("conv2d-nchw:5x6x8x4", "(tensor<1x4x7x8x>, tensor<8x4x3x3x>) -> tensor<1x8x5x6x>"),
        ("conv2d-strided:5x6x8x4", "(tensor<1x11x13x4x>, tensor<3x3x4x8x>) -> tensor<1x5x6x8x>"),
        ("conv2d-dilated:5x6x8x4", "(tensor<1x9x10x4x>, tensor<3x3x4x8x>) -> tensor<1x5x6x8x>"),
        ("conv2d-padded:5x6x8x4", "(tensor<1x5x6x4x>, tensor<3x3x4x8x>) -> tensor<1x5x6x8x>"),
        ("conv2d-batch:2x3x7x9x4x3x2x1", "(tensor<2x3x7x9x>, tensor<4x3x3x3x>) -> tensor<2x4x4x5x>"),
        ("conv2d-batch:3x2x5x6x4x1x1x0", "(tensor<3x2x5x6x>, tensor<4x2x1x1x>) -> tensor<3x4x5x6x>"),
        ("depthwise:5x6x8", "(tensor<1x7x8x8x>, tensor<3x3x8x>) -> tensor<1x5x6x8x>"),
        ("depthwise-nchw:5x6x8", "(tensor<1x8x7x8x>, tensor<8x3x3x>) -> tensor<1x8x5x6x>"),
        ("maxpool-nchw:6x8x3", "(tensor<1x3x6x8x>) -> tensor<1x3x3x4x>"),
        ("maxpool:6x8x3", "(tensor<1x6x8x3x>) -> tensor<1x3x4x3x>"),
        ("add:4", "(tensor<4x>, tensor<4x>) -> tensor<4x>"),
        ("bias-relu:2x3x4", "(tensor<2x3x4x>, tensor<4x>) -> tensor<2x3x4x>"),
        ("sum-columns:2x3", "(tensor<2x3x>) -> tensor<3x>"),
        ("max-rows:2x3", "(tensor<2x3x>) -> tensor<2x>"),
        ("transpose:2x3", "(tensor<2x3x>) -> tensor<3x2x>"),
    ],
)
def test_extents_are_those_of_the_name(name: str, expected: str) -> None:
    assert types(normal_text(find(name), name)) == f"func.func @main{expected}"


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def layer_norm(rows: Array, scale: Array, shift: Array) -> Array:
    centred = rows - rows.mean(1, keepdims=True)
    return np.asarray(centred / np.sqrt(rows.var(1, keepdims=True) + 1e-5) * scale + shift)


def dilated(image: Array, weights: Array) -> Array:
    rows, columns = (extent - 4 for extent in image.shape[1:3])
    taps = [(i, j) for i in range(3) for j in range(3)]
    moved = (image[:, 2 * i :, 2 * j :][:, :rows, :columns] @ weights[i, j] for i, j in taps)
    return np.asarray(sum(moved))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul-at:2x3x5", lambda a, b: a.T @ b),
        ("matmul-bt:2x3x5", lambda a, b: a @ b.T),
        ("batch-matmul-bt:7x2x3x5", lambda a, b: a @ b.transpose(0, 2, 1)),
        ("matmul-bias-relu:2x3x5", lambda a, b, row: np.maximum(a @ b + row, 0)),
        ("mlp:2x3x4x5", lambda a, v, r, w, s: np.maximum(a @ v + r, 0) @ w + s),
        ("attention:2x3x4", lambda q, k, v: softmax(q @ k.transpose(0, 2, 1) / 2) @ v),
        ("conv2d-dilated:5x6x8x4", dilated),
        ("sumpool:4x6x3", lambda a: a.reshape(1, 2, 2, 3, 2, 3).sum((2, 4))),
        ("maxpool-nchw:4x6x3", lambda a: a.reshape(1, 3, 2, 2, 3, 2).max((3, 5))),
        ("bias-relu:2x3x4", lambda a, row: np.maximum(a + row, 0)),
        ("softmax:3x4", softmax),
        ("layer-norm:3x4", layer_norm),
        ("sum-columns:3x4", lambda a: a.sum(0)),
        ("max-rows:3x4", lambda a: a.max(1)),
    ],
)
def test_programs_compute_what_their_names_say(name: str, expected: Callable[..., Array]) -> None:
    text, rng = normal_text(find(name), name), np.random.default_rng(0)
    inputs = [rng.standard_normal(one.shape) for one in signature(text).inputs]
    (output,) = evaluate(text, inputs)
    np.testing.assert_allclose(output, expected(*inputs), rtol=1e-6)


def test_reductions_run_along_what_is_not_written() -> None:
    assert 'iterator_types = ["parallel", "reduction"]' in find("sum-rows:2x3")
    assert 'iterator_types = ["reduction", "parallel"]' in find("sum-columns:2x3")
    assert "0xFF800000" in find("max-rows:2x3")


def test_an_expression_becomes_one_line_for_each_operation() -> None:
    draft = Draft()
    left, right = draft.argument(4), draft.argument(4)
    made = draft.generic("x,x->x", [left, right], ("arith.addf", ("arith.mulf", "a", "b"), "%c0"))
    assert draft.text(made).splitlines()[3:7] == [
        "^bb0(%a: f32, %b: f32, %o: f32):",
        "%t0 = arith.mulf %a, %b : f32",
        "%t1 = arith.addf %t0, %c0 : f32",
        "linalg.yield %t1 : f32",
    ]


def test_a_window_leads_back_to_the_image_that_it_came_from() -> None:
    for window in (Window(1), Window(3), Window(3, 2), Window(3, 1, 2), Window(7, 2)):
        assert [window.after(window.before(extent)) for extent in range(1, 20)] == list(range(1, 20))
    assert Window(5).after(4) < 1


def test_points_are_the_multiply_adds_of_contractions() -> None:
    for name, points in (("matmul:2x3x5", 30), ("conv2d:5x6x8x4", 5 * 6 * 8 * 4 * 9), ("add:4x5", 20)):
        draft = Draft()
        FAMILIES[name.partition(":")[0]].write(draft, *map(int, name.partition(":")[2].split("x")))
        assert draft.points == points


def test_what_is_in_sets_can_be_measured() -> None:
    for family in FAMILIES.values():
        for shape in family.shapes:
            draft = Draft()
            family.write(draft, *shape)
            assert 5_000 < draft.points < 1.25e9 and draft.size_bytes < 80e6


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("matmul:4x5", "matmul:4x5: expected mxnxk, a number for each"),
        ("matmul:4x5x6x7", "expected mxnxk, a number for each"),
        ("matmul:4x5x0", "matmul:4x5x0: expected matmul:mxnxk, numbers of at least 1"),
        ("matmul:tset", "matmul:tset: expected matmul:mxnxk"),
        ("mlp:4x5", "expected rowsxinxoutx..., a number for each"),
        ("conv2d-batch:1x8x5x5x4x3x0x0", "expected conv2d-batch:imagesxchannels"),
        (
            "conv2d-batch:1x8x2x9x4x5x1x1",
            "a window of 5x5 on 2x9 with padding 1: expected",
        ),
        ("maxpool:1x8x8", "expected h and w of 2 or more"),
        ("add:999999x999999", "expected 1073741824 at most"),
    ],
)
def test_extents_that_cannot_be_are_said(text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        find(text)
    assert what in str(caught.value)


def test_unknown_families_are_said() -> None:
    with pytest.raises(UnknownName, match="did you mean 'matmul'"):
        find("matmull:4x5x6")


def test_sets_are_split_by_name() -> None:
    for family in ("matmul", sets.EVERY, "set1250"):
        train, test, every = (sets.names(family, split) for split in sets.SPLITS)
        assert sorted(train + test) == sorted(every) and len(set(every)) == len(every)
        assert 0.05 * len(every) < len(test) < 0.15 * len(every)
        assert all(map(sets.is_held_out, test)) and not any(map(sets.is_held_out, train))


def test_the_small_set_is_held_out() -> None:
    small = sets.names("set17")
    kinds = Counter(name.partition(":")[0] for name in small)
    assert len(small) == 17 and kinds == {"matmul": 4, "conv2d": 4, "add": 3, "maxpool": 3, "relu": 3}
    assert sets.names("set17", "test") == small
    assert set(small) <= set(sets.names(sets.EVERY, "test"))
    with pytest.raises(InputError, match="no program in this split; expected set17:all"):
        sets.names("set17", "train")


def test_the_large_set_has_all_families_and_random_chains() -> None:
    large = sets.names("set1250")
    kinds = Counter(name.partition(":")[0] for name in large)
    assert len(large) == 1250
    assert set(kinds) == {*FAMILIES, "random"} - {OF_BATCHES} and kinds["random"] > 400
