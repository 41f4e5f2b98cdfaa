"""Random programs: valid, bounded, of all kinds of ops, and the same for the same seed."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter

import pytest

from burnish.tasks.mlir_schedules.reading import normal_text
from burnish.tasks.mlir_schedules.writing import generator
from burnish.tasks.mlir_schedules.writing.generator import random_text

SEEDS = range(60)
FEATURES = (
    *("linalg.matmul", "linalg.batch_matmul"),
    *("linalg.matmul indexing_maps", "linalg.batch_matmul indexing_maps"),
    *("linalg.conv_2d_nhwc_hwcf", "linalg.conv_2d_nchw_fchw", "linalg.depthwise_conv_2d_nhwc_hwc"),
    *("linalg.depthwise_conv_2d_nchw_chw", "linalg.pooling_nchw_sum"),
    *("linalg.pooling_nhwc_max", "linalg.pooling_nchw_max", "linalg.pooling_nhwc_sum"),
    *("linalg.add", "linalg.softmax", "linalg.transpose", "arith.maximumf", "math.rsqrt", '"reduction"'),
    *("tensor.pad", "tensor.collapse_shape", "tensor.expand_shape"),
    *("strides = dense<2>", "dilations = dense<2>"),
)
TENSOR = re.compile(r"tensor<((?:\d+x)+)f32>")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [normal_text(random_text(seed), f"random:{seed}") for seed in SEEDS]


def test_programs_have_all_kinds_of_ops(texts: list[str]) -> None:
    together = "\n".join(texts)
    assert not [feature for feature in FEATURES if feature not in together]


def test_chains_are_of_all_lengths(texts: list[str]) -> None:
    lengths = Counter(len(re.findall(r"= linalg\.(?!fill)", text)) for text in texts)
    assert min(lengths) <= 2 and max(lengths) >= 10
    assert len(lengths) >= 9


def test_what_is_made_is_read(texts: list[str]) -> None:
    for text in texts:
        made = re.findall(r"^ +(%[\w]+) =", text, re.MULTILINE)
        assert not [value for value in set(made) if len(re.findall(rf"{value}\b", text)) < 2]


def test_sums_read_what_an_earlier_op_made(texts: list[str]) -> None:
    sums = re.findall(r"linalg\.add ins\((%\w+), (%\w+)", "\n".join(texts))
    assert any(not right.startswith("%arg") for _, right in sums)


def test_programs_are_bounded(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for text in texts:
        sizes = [4 * _product(found) for found in TENSOR.findall(text)]
        assert max(sizes) <= generator.MOST_BYTES
    monkeypatch.setattr(generator, "MOST_POINTS", 10**6)
    monkeypatch.setattr(generator, "MOST_BYTES", 1 << 20)
    for seed in SEEDS[:10]:
        (head,) = (line for line in random_text(seed).splitlines() if "@main" in line)
        assert sum(4 * _product(found) for found in TENSOR.findall(head)) <= 1 << 20


def test_a_seed_is_a_program_for_good() -> None:
    digest = hashlib.blake2b("".join(map(random_text, SEEDS)).encode(), digest_size=8).hexdigest()
    assert (generator.VERSION, digest) == (1, "6230b19fddfb1bde"), "another text: one more for VERSION"
    assert len({random_text(seed) for seed in SEEDS}) == len(SEEDS)


def _product(found: str) -> int:
    return math.prod(map(int, found.split("x")[:-1]))
