"""Extents of the programs in sets: layers of real networks, and grids of sizes around them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

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
