"""Values between the layers of random programs: tensors of a known kind, such as images or matrices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from burnish.tasks.mlir_schedules.writing.draft import Draft
from burnish.tasks.mlir_schedules.writing.texts import Tensor

Kind = Literal["nhwc", "nchw", "matrix", "batch", "vector"]

SIDES = (7, 14, 28, 56, 112)  # of images in networks
CHANNELS = (3, 16, 24, 32, 64, 96, 128, 192, 256, 512)
ROWS = (1, 32, 49, 64, 128, 196, 256, 512, 784, 1024)
WIDTHS = (64, 128, 192, 256, 384, 512, 768, 1024, 2048, 3072)
HEADS = (2, 4, 8, 12, 16)
HEAD_WIDTHS = (32, 64)
UNUSUAL = 0.3  # share of the extents that are random


@dataclass(frozen=True)
class Value:
    """A tensor, and the meaning of its dimensions."""

    tensor: Tensor
    kind: Kind

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's extents."""
        return self.tensor.shape


def first_value(draft: Draft, rng: random.Random) -> Value:
    """Add the first argument of a program."""
    kind: Kind = rng.choice(("nhwc", "nhwc", "nchw", "matrix", "matrix", "batch"))
    if kind == "matrix":
        shape = [extent(ROWS, rng), extent(WIDTHS, rng)]
    elif kind == "batch":
        shape = [rng.choice(HEADS), extent(ROWS[:7], rng), extent(HEAD_WIDTHS, rng)]
    else:
        side, channels = extent(SIDES, rng), extent(CHANNELS, rng)
        shape = [1, side, side, channels] if kind == "nhwc" else [1, channels, side, side]
    return Value(draft.argument(*shape), kind)


def extent(usual: Sequence[int], rng: random.Random) -> int:
    """Draw an extent: one of the usual ones, or any from their least to their largest, by octaves."""
    if rng.random() >= UNUSUAL:
        return rng.choice(usual)
    least, most = min(usual), max(usual)
    low = least << rng.randrange((most // least).bit_length())
    return rng.randint(low, min(most, 2 * low))
