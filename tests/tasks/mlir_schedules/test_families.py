"""Programs by name and extents: each is valid, of the form of the task, and computes what its name says."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.mlir_schedules import sets
from burnish.tasks.mlir_schedules.draft import Draft
from burnish.tasks.mlir_schedules.families import FAMILIES, find
from burnish.tasks.mlir_schedules.reading import normal_text
from burnish.tasks.mlir_schedules.texts import Window, generic

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
        ("depthwise:5x6x8", "(tensor<1x7x8x8x>, tensor<3x3x8x>) -> tensor<1x5x6x8x>"),
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


def test_reductions_run_along_what_is_not_written() -> None:
    assert 'iterator_types = ["parallel", "reduction"]' in find("sum-rows:2x3")
    assert 'iterator_types = ["reduction", "parallel"]' in find("sum-columns:2x3")
    assert "0xFF800000" in find("max-rows:2x3")


def test_an_expression_becomes_one_line_for_each_operation() -> None:
    draft = Draft()
    left, right = draft.argument(4), draft.argument(4)
    text = generic("x,x->x", [left, right], left, ("arith.addf", ("arith.mulf", "a", "b"), "%c0"))
    assert text.splitlines()[1:5] == [
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


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("matmul:4x5", "matmul:4x5: expected mxnxk, a number for each"),
        ("matmul:4x5x6x7", "expected mxnxk, a number for each"),
        ("matmul:4x5x0", "matmul:4x5x0: expected matmul:mxnxk, numbers from 1 on"),
        ("matmul:tset", "matmul:tset: expected matmul:mxnxk"),
        ("mlp:4x5", "expected rowsxinxoutx..., a number for each"),
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
    assert set(kinds) == {*FAMILIES, "random"} and kinds["random"] > 400
