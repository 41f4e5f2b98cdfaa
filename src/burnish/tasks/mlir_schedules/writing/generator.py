"""Random programs without end, one for each seed: chains of the ops of networks.

Every op reads the result of the one before; sums sometimes read the result of an earlier one, too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from burnish.tasks.mlir_schedules.writing import layers
from burnish.tasks.mlir_schedules.writing.draft import Draft, Tensor, Window
from burnish.tasks.mlir_schedules.writing.layers import Layout

VERSION = 1  # increased whenever a seed gives another program
MOST_LAYERS = 10
FEWEST_POINTS, MOST_POINTS = 10**5, 2 * 10**9  # of all iteration spaces: the multiply-adds of contractions
MOST_BYTES = 64 << 20  # of all arguments and of the results of all ops
TRIES = 20  # layers to draw in place of one that does not fit


def random_text(seed: int) -> str:
    """Return the random program of a seed, the same on every machine; the text is not normalised."""
    rng = random.Random(f"burnish mlir {VERSION} {seed}")
    while True:
        draft = Draft()
        made = [first_value(draft, rng)]
        if _fits(draft):
            draft = _extended(draft, made, rng.randint(1, MOST_LAYERS), rng)
        if len(made) > 1 and _fits(draft) and draft.points >= FEWEST_POINTS:
            return draft.text(made[-1].tensor)


def _extended(draft: Draft, made: list[Value], count: int, rng: random.Random) -> Draft:
    """Return a draft with `count` more layers, or as many as fit; their results are added to `made`."""
    tries = 0
    while count and tries < TRIES:
        layer = _drawn(made[-1], rng)
        longer = draft.copy()
        value = layer.write(longer, made, rng)
        if value is not None and _fits(longer):
            draft, count, tries = longer, count - 1, 0
            made.append(value)
        tries += 1
    return draft


def _drawn(value: Value, rng: random.Random) -> Layer:
    """Draw a layer that takes values of this kind."""
    known = [layer for layer in LAYERS if value.kind in layer.kinds]
    return rng.choices(known, [layer.weight for layer in known])[0]


def _fits(draft: Draft) -> bool:
    return draft.points <= MOST_POINTS and draft.size_bytes <= MOST_BYTES


Kind = Literal["nhwc", "nchw", "matrix", "batch", "vector"]

IMAGE_SIDES = (7, 14, 28, 56, 112)  # of images in networks
CHANNELS = (3, 16, 24, 32, 64, 96, 128, 192, 256, 512)
ROWS = (1, 32, 49, 64, 128, 196, 256, 512, 784, 1024)
WIDTHS = (64, 128, 192, 256, 384, 512, 768, 1024, 2048, 3072)
FILTERS = CHANNELS[1:]
WINDOW_SIDES = (1, 1, 3, 3, 3, 5, 7)
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
        side, channels = extent(IMAGE_SIDES, rng), extent(CHANNELS, rng)
        shape = [1, side, side, channels] if kind == "nhwc" else [1, channels, side, side]
    return Value(draft.argument(*shape), kind)


def extent(usual: Sequence[int], rng: random.Random) -> int:
    """Draw an extent: one of the usual ones, or any from their least to their largest, by octaves."""
    if rng.random() >= UNUSUAL:
        return rng.choice(usual)
    least, most = min(usual), max(usual)
    low = least << rng.randrange((most // least).bit_length())
    return rng.randint(low, min(most, 2 * low))


Writer = Callable[[Draft, Sequence[Value], random.Random], Value | None]


@dataclass(frozen=True)
class Layer:
    """A layer of random programs."""

    kinds: tuple[Kind, ...]  # of values that it takes
    weight: int  # relative frequency among the layers that take a value
    write: Writer  # adds its ops after the last value; returns None if the extents do not fit


def _matmul(spec: str, draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    left, right = spec.partition("->")[0].split(",")
    extents = {"k": made[-1].shape[left.index("k")], "n": extent(WIDTHS, rng)}
    weights = draft.argument(*(extents[letter] for letter in right))
    return Value(layers.matmul(draft, made[-1].tensor, weights, spec), "matrix")


def _batched(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    b, _, k = made[-1].shape
    right = draft.argument(b, k, extent(HEAD_WIDTHS if rng.random() < 0.7 else ROWS[1:], rng))
    return Value(layers.matmul(draft, made[-1].tensor, right, "bmk,bkn->bmn"), "batch")


def _scores(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    """Multiply by the transpose of an earlier value, as in attention; without one, of an argument."""
    b, _, k = made[-1].shape
    others = [one.tensor for one in made[:-1] if one.kind == "batch" and one.shape[::2] == (b, k)]
    right = rng.choice(others) if others else draft.argument(b, extent(ROWS[1:7], rng), k)
    product = layers.matmul(draft, made[-1].tensor, right, "bmk,bnk->bmn")
    return Value(layers.scaled(draft, product, k**-0.5) if others else product, "batch")


def _conv2d(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value | None:
    layout = _layout(made[-1])
    side = rng.choice(WINDOW_SIDES)
    window = Window(
        side, stride=rng.choice((1, 1, 1, 2)), dilation=rng.choice((1, 1, 1, 2)) if side > 1 else 1
    )
    image = _around(draft, made[-1], window, rng)
    if image is None:
        return None
    return Value(layers.conv2d(draft, image, extent(FILTERS, rng), window, layout), layout)


def _depthwise(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value | None:
    layout = _layout(made[-1])
    window = Window(rng.choice((3, 3, 5)), stride=rng.choice((1, 1, 2)))
    image = _around(draft, made[-1], window, rng)
    if image is None:
        return None
    return Value(layers.depthwise(draft, image, window, layout), layout)


def _pool(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value | None:
    image, layout = made[-1].tensor, _layout(made[-1])
    window = Window(rng.choice((2, 2, 3)), stride=rng.choice((2, 2, 1)))
    if not _holds(image, window, layout):
        return None
    if rng.random() < 0.6:
        return Value(layers.pool(draft, image, window, "max", layout), layout)
    sums = layers.pool(draft, image, window, "sum", layout)
    return Value(layers.scaled(draft, sums, window.side**-2), layout)


def _of_one(
    layer: Callable[[Draft, Tensor], Tensor], draft: Draft, made: Sequence[Value], rng: random.Random
) -> Value:
    return Value(layer(draft, made[-1].tensor), made[-1].kind)


def _bias(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    along = 1 if made[-1].kind == "nchw" else len(made[-1].shape) - 1
    row = draft.argument(made[-1].shape[along])
    with_relu = rng.random() < 0.3
    return Value(layers.bias(draft, made[-1].tensor, row, along, with_relu=with_relu), made[-1].kind)


def _add(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    others = [one.tensor for one in made[:-1] if one.shape == made[-1].shape and one.kind == made[-1].kind]
    other = rng.choice(others) if others else draft.argument(*made[-1].shape)
    return Value(layers.add(draft, made[-1].tensor, other), made[-1].kind)


def _layer_norm(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    width = made[-1].shape[1]
    return Value(
        layers.layer_norm(draft, made[-1].tensor, draft.argument(width), draft.argument(width)), "matrix"
    )


def _reduced(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    spec = rng.choice(("mn->m", "mn->n"))
    return Value(layers.reduced(draft, made[-1].tensor, spec, rng.choice(("sum", "max"))), "vector")


def _transposed(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    return Value(draft.transposed(made[-1].tensor, (1, 0)), "matrix")


def _heads(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value | None:
    """Split rows into heads, which become the first dimension: (m, heads x width) -> (heads, m, width)."""
    m, n = made[-1].shape
    widths = [width for width in HEAD_WIDTHS if n % width == 0 and n > width]
    if not widths:
        return None
    width = rng.choice(widths)
    split = draft.expanded(made[-1].tensor, [[0], [1, 2]], (m, n // width, width))
    return Value(draft.transposed(split, (1, 0, 2)), "batch")


def _joined(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    """Join the heads of `_heads` again."""
    rows = draft.transposed(made[-1].tensor, (1, 0, 2))
    return Value(draft.collapsed(rows, [[0], [1, 2]]), "matrix")


def _pixels(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    """Turn an NHWC image into a matrix with a row for each pixel."""
    return Value(draft.collapsed(made[-1].tensor, [[0, 1, 2], [3]]), "matrix")


def _means(draft: Draft, made: Sequence[Value], rng: random.Random) -> Value:
    """Turn an image into a row of the means of its channels."""
    image = made[-1].tensor
    sums = layers.reduced(draft, image, f"{made[-1].kind}->nc")
    pixels = math.prod(image.shape) // math.prod(sums.shape)
    return Value(layers.scaled(draft, sums, 1 / pixels), "matrix")


def _layout(value: Value) -> Layout:
    return "nchw" if value.kind == "nchw" else "nhwc"


def _around(draft: Draft, value: Value, window: Window, rng: random.Random) -> Tensor | None:
    """Return an image that the window fits in, sometimes padded with zeros; None if it is too small."""
    image, layout = value.tensor, _layout(value)
    if window.side > 1 and rng.random() < 0.4:
        image = layers.padded(draft, image, window.reach // 2, layout)
    return image if _holds(image, window, layout) else None


def _holds(image: Tensor, window: Window, layout: Layout) -> bool:
    extents = dict(zip(layout, image.shape, strict=True))
    return min(window.after(extents["h"]), window.after(extents["w"])) >= 1


IMAGES: tuple[Kind, ...] = ("nhwc", "nchw")
ALL: tuple[Kind, ...] = (*IMAGES, "matrix", "batch", "vector")

LAYERS = (
    Layer(("matrix",), 6, partial(_matmul, "mk,kn->mn")),
    Layer(("matrix",), 2, partial(_matmul, "mk,nk->mn")),
    Layer(("matrix",), 2, partial(_matmul, "km,kn->mn")),
    Layer(("batch",), 5, _batched),
    Layer(("batch",), 3, _scores),
    Layer(IMAGES, 8, _conv2d),
    Layer(IMAGES, 3, _depthwise),
    Layer(IMAGES, 3, _pool),
    Layer(ALL, 4, partial(_of_one, layers.relu)),
    Layer((*IMAGES, "matrix", "batch"), 3, _bias),
    Layer(ALL, 3, _add),
    Layer(("matrix", "batch"), 2, partial(_of_one, layers.softmax)),
    Layer(("matrix",), 2, _layer_norm),
    Layer(("matrix",), 1, _reduced),
    Layer(("matrix",), 1, _transposed),
    Layer(("matrix",), 1, _heads),
    Layer(("batch",), 1, _joined),
    Layer(("nhwc",), 1, _pixels),
    Layer(IMAGES, 1, _means),
)
