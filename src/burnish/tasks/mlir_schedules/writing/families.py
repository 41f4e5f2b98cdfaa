"""Families of programs by name and extents: `matmul:512x512x512`, `conv2d:56x56x64x64`, `mlp:64x784x128x10`.

Products are m x n, with k summed over. Images are single, and NHWC unless the name says NCHW. For a
convolution, h, w and f (filters) are the output's, and c is the input's. For a pool all are the input's.
`conv2d-batch:8x3x224x224x64x7x2x3` is a convolution of a batch, channels first: images, channels, rows and
columns of the input, filters, side of the window, its stride, and the zeros on each side of an image.
The extents in sets are those of layers of real networks, and grids of sizes around them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.mlir_schedules.writing import layers
from burnish.tasks.mlir_schedules.writing.draft import Draft, Tensor, Window
from burnish.tasks.mlir_schedules.writing.layers import Layout, Reduction

ANY = "..."  # after the last extent: more extents may follow
PADDING = "padding"  # the last extent of a family, which may be 0; all others are at least 1
NUMBERS = re.compile(r"[1-9]\d{0,8}(x[1-9]\d{0,8}){0,15}")
LARGEST_BYTES = 1 << 30  # of all tensors of a program


@dataclass(frozen=True)
class OpFamily:
    """Programs that differ only in their extents."""

    extents: tuple[str, ...]  # the meaning of a name's numbers, in order
    write: Callable[..., Tensor]  # adds the ops for given extents to a draft
    shapes: Sequence[tuple[int, ...]]  # the extents of the family's programs in sets

    @property
    def form(self) -> str:
        """The form of the extents: 'mxnxk'."""
        return "x".join(self.extents)

    def text(self, extents: Sequence[int], name: str) -> str:
        """Return the program of given extents.

        Raises:
            InputError: the number of extents is wrong, or the tensors are too large.
        """
        fixed = [one for one in self.extents if one != ANY]
        if len(extents) < len(fixed) or (len(extents) > len(fixed) and ANY not in self.extents):
            raise InputError(f"{name}: expected {self.form}, a number for each")
        draft = Draft()
        text = draft.text(self.write(draft, *extents))
        if draft.size_bytes > LARGEST_BYTES:
            raise InputError(
                f"{name}: its tensors have {draft.size_bytes} bytes; expected {LARGEST_BYTES} at most"
            )
        return text


def _matmul(draft: Draft, m: int, n: int, k: int, spec: str = "mk,kn->mn") -> Tensor:
    return _product(draft, {"m": m, "n": n, "k": k}, spec)


def _batched(draft: Draft, b: int, m: int, n: int, k: int, spec: str = "bmk,bkn->bmn") -> Tensor:
    return _product(draft, {"b": b, "m": m, "n": n, "k": k}, spec)


def _product(draft: Draft, extents: Mapping[str, int], spec: str) -> Tensor:
    parts = spec.partition("->")[0].split(",")
    left, right = (draft.argument(*(extents[letter] for letter in part)) for part in parts)
    return layers.matmul(draft, left, right, spec)


def _matmul_relu(draft: Draft, m: int, n: int, k: int) -> Tensor:
    return layers.relu(draft, _matmul(draft, m, n, k))


def _linear_relu(draft: Draft, m: int, n: int, k: int) -> Tensor:
    return layers.relu(draft, layers.bias(draft, _matmul(draft, m, n, k), draft.argument(n)))


def _mlp(draft: Draft, rows: int, *widths: int) -> Tensor:
    value = draft.argument(rows, widths[0])
    for number, (before, after) in enumerate(itertools.pairwise(widths)):
        value = layers.relu(draft, value) if number else value
        value = layers.matmul(draft, value, draft.argument(before, after))
        value = layers.bias(draft, value, draft.argument(after))
    return value


def _image(draft: Draft, h: int, w: int, c: int, layout: Layout = "nhwc") -> Tensor:
    known = {"n": 1, "h": h, "w": w, "c": c}
    return draft.argument(*(known[letter] for letter in layout))


def _conv2d(window: Window, layout: Layout, draft: Draft, *extents: int) -> Tensor:
    h, w, f, c = extents
    image = _image(draft, window.before(h), window.before(w), c, layout)
    return layers.conv2d(draft, image, f, window, layout)


def _conv2d_batch(draft: Draft, *extents: int) -> Tensor:
    *image, filters, side, stride, padding = extents
    window, value = Window(side, stride), draft.argument(*image)
    if min(map(window.after, (extent + 2 * padding for extent in image[2:]))) < 1:
        size = f"{image[2]}x{image[3]} with padding {padding}"
        raise InputError(f"a window of {side}x{side} on {size}: expected a window that fits")
    if padding:
        value = layers.padded(draft, value, padding, "nchw")
    return layers.conv2d(draft, value, filters, window, "nchw")


def _conv2d_padded(draft: Draft, h: int, w: int, f: int, c: int) -> Tensor:
    return layers.conv2d(draft, layers.padded(draft, draft.argument(1, h, w, c), 1), f, Window(3))


def _conv2d_relu(draft: Draft, h: int, w: int, f: int, c: int) -> Tensor:
    return layers.relu(draft, _conv2d(Window(3), "nhwc", draft, h, w, f, c))


def _depthwise(window: Window, layout: Layout, draft: Draft, *extents: int) -> Tensor:
    h, w, c = extents
    image = _image(draft, window.before(h), window.before(w), c, layout)
    return layers.depthwise(draft, image, window, layout)


def _separable(draft: Draft, h: int, w: int, f: int, c: int) -> Tensor:
    """Add MobileNet's pair of layers: a filter for each channel, then filters over all channels."""
    value = layers.relu(draft, _depthwise(Window(3), "nhwc", draft, h, w, c))
    return layers.relu(draft, layers.conv2d(draft, value, f, Window(1)))


def _residual(draft: Draft, h: int, w: int, c: int) -> Tensor:
    """Add ResNet-18's block."""
    image = draft.argument(1, h, w, c)
    value = layers.relu(draft, layers.conv2d(draft, layers.padded(draft, image, 1), c, Window(3)))
    value = layers.conv2d(draft, layers.padded(draft, value, 1), c, Window(3))
    return layers.relu(draft, layers.add(draft, value, image))


def _pool(window: Window, op: tuple[Layout, Reduction], draft: Draft, *extents: int) -> Tensor:
    h, w, c = extents
    layout, reduction = op
    if min(h, w) < window.side:
        raise InputError(f"a pool of {h}x{w}x{c}: expected h and w of {window.side} or more")
    return layers.pool(draft, _image(draft, h, w, c, layout), window, reduction, layout)


def _add(draft: Draft, *extents: int) -> Tensor:
    return layers.add(draft, draft.argument(*extents), draft.argument(*extents))


def _of_one(layer: Callable[[Draft, Tensor], Tensor], draft: Draft, *extents: int) -> Tensor:
    return layer(draft, draft.argument(*extents))


def _bias_relu(draft: Draft, *extents: int) -> Tensor:
    return layers.bias(draft, draft.argument(*extents), draft.argument(extents[-1]), with_relu=True)


def _layer_norm(draft: Draft, m: int, n: int) -> Tensor:
    return layers.layer_norm(draft, draft.argument(m, n), draft.argument(n), draft.argument(n))


def _reduced(spec: str, reduction: Reduction, draft: Draft, m: int, n: int) -> Tensor:
    return layers.reduced(draft, draft.argument(m, n), spec, reduction)


def _transpose(draft: Draft, m: int, n: int) -> Tensor:
    return draft.transposed(draft.argument(m, n), (1, 0))


def _attention(draft: Draft, b: int, m: int, k: int) -> Tensor:
    query, key, value = (draft.argument(b, m, k) for _ in range(3))
    return layers.attention(draft, query, key, value)


Shapes = Sequence[tuple[int, ...]]

CHANNELS = (32, 64, 128)


def listed(text: str) -> list[tuple[int, ...]]:
    """Return the extents that a text lists, such as '64x64x3 128x128x3'."""
    return [tuple(map(int, one.split("x"))) for one in text.split()]


def grid(*sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all combinations of sizes."""
    return list(itertools.product(*sizes))


def images(sides: Sequence[int], *channels: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all combinations of square images and numbers of channels."""
    return [(side, side, *rest) for side in sides for rest in itertools.product(*channels)]


# m, n, k
TRANSFORMER_MATMULS: Shapes = [  # BERT, GPT-2, DistilBERT, BERT large: projections and feed-forward layers
    *[(rows, *layer) for rows in (64, 128, 256, 512) for layer in ((768, 768), (3072, 768), (768, 3072))],
    *[(rows, 2304, 768) for rows in (64, 128, 256, 512)],
    *[(rows, *layer) for rows in (64, 128, 256) for layer in ((1024, 1024), (4096, 1024), (1024, 4096))],
]
CLASSIFIERS: Shapes = [  # the last layers of ResNet-18, ResNet-50, MobileNet, VGG, for some batch sizes
    (batch, *layer)
    for batch in (1, 8, 32)
    for layer in ((1000, 512), (1000, 2048), (1000, 1280), (4096, 4096))
]
POINTWISE: Shapes = listed(  # 1x1 convolutions of ResNet-50 and MobileNet, as products
    "3136x64x64 3136x256x64 784x128x512 784x512x128 196x256x1024 196x1024x256 49x512x2048 49x2048x512 "
    "3136x24x96 784x32x192 196x576x96 49x1280x320"
)
# extents that are not powers of 2
ODD: Shapes = listed("100x100x100 127x129x131 200x300x250 360x240x480 510x510x510 999x333x111")
MATMULS: Shapes = [
    *grid((64, 128, 256, 512), (64, 128, 256, 512), (64, 128, 256, 512)),
    *grid((96, 192, 384), (96, 192, 384), (96, 192, 384)),
    *grid((768, 1024), (768, 1024), (768, 1024)),
    *TRANSFORMER_MATMULS,
    *CLASSIFIERS,
    *POINTWISE,
    *ODD,
]
FEW_MATMULS: Shapes = [
    *grid((64, 128, 256, 512), (64, 128, 256, 512), (64, 256)),
    *[(rows, *layer) for rows in (64, 128) for layer in ((768, 768), (3072, 768), (768, 3072))],
]
# b, m, n, k: heads, rows, rows, width of a head
BATCHED: Shapes = [
    *grid((8, 12, 16), (64, 128, 256), (64, 128), (64,)),
    *grid((8, 12, 16), (64, 128, 256), (64,), (64, 128, 256)),
    *grid((8, 32, 64), (32, 48), (32, 48), (32, 48)),
]
# h, w, f, c: of the output, then the channels of the input
CONV2D: Shapes = [
    *images((7, 14, 28, 56), CHANNELS, CHANNELS),
    *listed(
        "7x7x512x512 14x14x256x256 28x28x256x128 28x28x256x256 28x28x512x256 56x56x128x128 56x56x256x128 "
        "112x112x64x64 112x112x32x3 112x112x128x64 224x224x64x3"
    ),
]
CONV2D_POINTWISE: Shapes = [
    *images((14, 28, 56), CHANNELS, CHANNELS),
    *listed(
        "56x56x256x64 28x28x512x128 28x28x128x512 14x14x1024x256 14x14x256x1024 7x7x2048x512 7x7x512x2048 "
        "112x112x16x32 56x56x24x96 28x28x32x192 14x14x96x576"
    ),
]
CONV2D_STRIDED: Shapes = [
    *images((7, 14, 28, 56), CHANNELS, CHANNELS),
    *listed("28x28x128x64 14x14x256x128 7x7x512x256 112x112x32x3"),
]
CONV2D_FEW: Shapes = images((7, 14, 28, 56), (32, 64, 128), (32, 64))
CONV2D_FIRST: Shapes = [  # the first layer of ResNet and of other networks that begin with 7x7
    *[(side, side, filters, 3) for side in (56, 64, 80, 96, 112, 128) for filters in (16, 32, 64)],
    *listed("112x112x64x1 112x112x64x4"),
]
WINDOWS = listed("1x1x0 1x2x0 3x1x0 3x1x1 3x2x1 5x1x2 7x2x3")  # side, stride, padding
OF_BATCHES = "conv2d-batch"  # a family in no set but its own: the sets were published before
CONV2D_BATCH: Shapes = [
    *[
        (images, channels, side, side, filters, *window)
        for images, side in ((1, 56), (2, 56), (4, 28), (4, 30), (8, 14), (16, 7), (64, 14))
        for channels, filters in ((16, 32), (32, 64), (64, 64), (48, 96), (128, 128))
        for window in WINDOWS
        if images * channels * filters * (side * window[0] // window[1]) ** 2 < 5e8
    ],
    *[(images, 3, side, side, 64, 7, 2, 3) for images in (1, 2, 4) for side in (64, 96, 112, 160)],
    *listed("4x256x14x14x256x3x1x1 2x512x7x7x512x3x1x1 4x256x14x14x512x1x1x0 1x256x56x56x128x1x2x0"),
]
# h, w, c
DEPTHWISE: Shapes = [
    *images((7, 14, 28, 56, 112), (32, 64, 96, 128)),
    *listed("56x56x144 28x28x192 14x14x384 14x14x512 14x14x576 7x7x960 7x7x1024"),
]
POOLED: Shapes = [
    *images((14, 28, 56, 112), (32, 64, 128, 256)),
    *listed("224x224x64 14x14x512 28x28x512 112x112x24 147x147x64"),
]
ELEMENTWISE: Shapes = [
    *[(kilo << 10,) for kilo in (16, 64, 256, 1024, 4096)],
    *grid((128, 256, 512, 1024, 2048), (128, 256, 512, 768, 1024, 3072)),
    *[(1, side, side, channels) for side in (14, 28, 56, 112) for channels in (32, 64, 128, 256)],
    *listed("1x7x7x512 1x112x112x96 12x128x128 16x256x256 1024x1024x4"),
]
ROWS: Shapes = grid((64, 128, 256, 512, 1024), (128, 256, 512, 768, 1024, 3072))  # m, n
MLPS: Shapes = [
    *[(rows, wide, 4 * wide, wide) for rows in (32, 64, 128) for wide in (128, 256, 384, 512)],
    *listed("128x768x3072x768"),
    *[
        (batch, 784, *hidden, 10)
        for batch in (16, 64, 256)
        for hidden in ((128,), (512, 256), (256, 128, 64))
    ],
]
ATTENTION: Shapes = grid((4, 8, 12, 16), (64, 128, 256), (32, 64))  # heads, rows, width of a head
RESIDUAL: Shapes = [*listed("56x56x64 28x28x128 14x14x256 7x7x512"), *images((14, 28, 56), (16, 32))]
SEPARABLE: Shapes = [
    *listed("112x112x64x32 56x56x128x128 28x28x256x256 14x14x512x512 7x7x1024x1024"),
    *images((14, 28, 56), (32, 64), (32, 64)),
]

MNK, BMNK, MN = ("m", "n", "k"), ("b", "m", "n", "k"), ("m", "n")
HWFC, HWC = ("h", "w", "f", "c"), ("h", "w", "c")
NCHWF = ("images", "channels", "rows", "columns", "filters", "side", "stride", PADDING)
SOME = ("n", ANY)


def _conv(shapes_of: Shapes, window: Window, layout: Layout = "nhwc") -> OpFamily:
    return OpFamily(HWFC, partial(_conv2d, window, layout), shapes_of)


FAMILIES: dict[str, OpFamily] = {
    "matmul": OpFamily(MNK, _matmul, MATMULS),
    "matmul-at": OpFamily(MNK, partial(_matmul, spec="km,kn->mn"), FEW_MATMULS),
    "matmul-bt": OpFamily(MNK, partial(_matmul, spec="mk,nk->mn"), FEW_MATMULS),
    "batch-matmul": OpFamily(BMNK, _batched, BATCHED),
    "batch-matmul-bt": OpFamily(BMNK, partial(_batched, spec="bmk,bnk->bmn"), BATCHED),
    "matmul-relu": OpFamily(MNK, _matmul_relu, FEW_MATMULS),
    "matmul-bias-relu": OpFamily(MNK, _linear_relu, FEW_MATMULS),
    "mlp": OpFamily(("rows", "in", "out", ANY), _mlp, MLPS),
    "attention": OpFamily(("b", "m", "k"), _attention, ATTENTION),
    "conv2d": _conv(CONV2D, Window(3)),
    "conv2d-1x1": _conv(CONV2D_POINTWISE, Window(1)),
    "conv2d-5x5": _conv(CONV2D_FEW, Window(5)),
    "conv2d-strided": _conv(CONV2D_STRIDED, Window(3, stride=2)),
    "conv2d-1x1-strided": _conv(CONV2D_STRIDED, Window(1, stride=2)),
    "conv2d-7x7-strided": _conv(CONV2D_FIRST, Window(7, stride=2)),
    "conv2d-dilated": _conv(CONV2D_FEW, Window(3, dilation=2)),
    "conv2d-nchw": _conv(CONV2D, Window(3), "nchw"),
    "conv2d-nchw-strided": _conv(CONV2D_STRIDED, Window(3, stride=2), "nchw"),
    "conv2d-padded": OpFamily(HWFC, _conv2d_padded, CONV2D_FEW),
    "conv2d-relu": OpFamily(HWFC, _conv2d_relu, CONV2D_FEW),
    OF_BATCHES: OpFamily(NCHWF, _conv2d_batch, CONV2D_BATCH),
    "depthwise": OpFamily(HWC, partial(_depthwise, Window(3), "nhwc"), DEPTHWISE),
    "depthwise-strided": OpFamily(HWC, partial(_depthwise, Window(3, stride=2), "nhwc"), DEPTHWISE),
    "depthwise-nchw": OpFamily(HWC, partial(_depthwise, Window(3), "nchw"), DEPTHWISE),
    "separable": OpFamily(HWFC, _separable, SEPARABLE),
    "residual": OpFamily(HWC, _residual, RESIDUAL),
    "maxpool": OpFamily(HWC, partial(_pool, Window(2, stride=2), ("nhwc", "max")), POOLED),
    "maxpool-3x3": OpFamily(HWC, partial(_pool, Window(3, stride=2), ("nhwc", "max")), POOLED),
    "maxpool-nchw": OpFamily(HWC, partial(_pool, Window(2, stride=2), ("nchw", "max")), POOLED),
    "sumpool": OpFamily(HWC, partial(_pool, Window(2, stride=2), ("nhwc", "sum")), POOLED),
    "add": OpFamily(SOME, _add, ELEMENTWISE),
    "relu": OpFamily(SOME, partial(_of_one, layers.relu), ELEMENTWISE),
    "bias-relu": OpFamily(SOME, _bias_relu, ELEMENTWISE),
    "softmax": OpFamily(SOME, partial(_of_one, layers.softmax), ROWS),
    "layer-norm": OpFamily(MN, _layer_norm, ROWS),
    "sum-rows": OpFamily(MN, partial(_reduced, "mn->m", "sum"), ROWS),
    "sum-columns": OpFamily(MN, partial(_reduced, "mn->n", "sum"), ROWS),
    "max-rows": OpFamily(MN, partial(_reduced, "mn->m", "max"), ROWS),
    "transpose": OpFamily(MN, _transpose, ROWS),
}


def find(text: str) -> str:
    """Return a program by its family and extents, such as 'matmul:64x64x64'; the text is not normalised.

    Raises:
        UnknownName: there is no such family.
        InputError: the extents do not have the expected form.
    """
    family, _, extents = text.partition(":")
    if family not in FAMILIES:
        raise UnknownName.among("family of programs", family, FAMILIES)
    found = FAMILIES[family]
    positive = extents.removesuffix("x0") if PADDING in found.extents else extents
    if not NUMBERS.fullmatch(positive):
        raise InputError(f"{text}: expected {family}:{found.form}, numbers of at least 1")
    return found.text([int(number) for number in extents.split("x")], text)
