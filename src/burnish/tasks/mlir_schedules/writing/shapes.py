"""Extents of the programs in sets: layers of real networks, and grids of sizes around them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Shapes = Sequence[tuple[int, ...]]

CHANNELS = (32, 64, 128)


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
POINTWISE: Shapes = [  # 1x1 convolutions of ResNet-50 and MobileNet, as products
    (3136, 64, 64),
    (3136, 256, 64),
    (784, 128, 512),
    (784, 512, 128),
    (196, 256, 1024),
    (196, 1024, 256),
    (49, 512, 2048),
    (49, 2048, 512),
    (3136, 24, 96),
    (784, 32, 192),
    (196, 576, 96),
    (49, 1280, 320),
]
ODD: Shapes = [  # extents that are not powers of 2
    (100, 100, 100),
    (127, 129, 131),
    (200, 300, 250),
    (360, 240, 480),
    (510, 510, 510),
    (999, 333, 111),
]
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
    (7, 7, 512, 512),
    (14, 14, 256, 256),
    (28, 28, 256, 128),
    (28, 28, 256, 256),
    (28, 28, 512, 256),
    (56, 56, 128, 128),
    (56, 56, 256, 128),
    (112, 112, 64, 64),
    (112, 112, 32, 3),
    (112, 112, 128, 64),
    (224, 224, 64, 3),
]
CONV2D_POINTWISE: Shapes = [
    *images((14, 28, 56), CHANNELS, CHANNELS),
    (56, 56, 256, 64),
    (28, 28, 512, 128),
    (28, 28, 128, 512),
    (14, 14, 1024, 256),
    (14, 14, 256, 1024),
    (7, 7, 2048, 512),
    (7, 7, 512, 2048),
    (112, 112, 16, 32),
    (56, 56, 24, 96),
    (28, 28, 32, 192),
    (14, 14, 96, 576),
]
CONV2D_STRIDED: Shapes = [
    *images((7, 14, 28, 56), CHANNELS, CHANNELS),
    (28, 28, 128, 64),
    (14, 14, 256, 128),
    (7, 7, 512, 256),
    (112, 112, 32, 3),
]
CONV2D_FEW: Shapes = images((7, 14, 28, 56), (32, 64, 128), (32, 64))
CONV2D_FIRST: Shapes = [  # the first layer of ResNet and of other networks that begin with 7x7
    *[(side, side, filters, 3) for side in (56, 64, 80, 96, 112, 128) for filters in (16, 32, 64)],
    (112, 112, 64, 1),
    (112, 112, 64, 4),
]
# h, w, c
DEPTHWISE: Shapes = [
    *images((7, 14, 28, 56, 112), (32, 64, 96, 128)),
    (56, 56, 144),
    (28, 28, 192),
    (14, 14, 384),
    (14, 14, 512),
    (14, 14, 576),
    (7, 7, 960),
    (7, 7, 1024),
]
POOLED: Shapes = [
    *images((14, 28, 56, 112), (32, 64, 128, 256)),
    (224, 224, 64),
    (14, 14, 512),
    (28, 28, 512),
    (112, 112, 24),
    (147, 147, 64),
]
ELEMENTWISE: Shapes = [
    *[(kilo << 10,) for kilo in (16, 64, 256, 1024, 4096)],
    *grid((128, 256, 512, 1024, 2048), (128, 256, 512, 768, 1024, 3072)),
    *[(1, side, side, channels) for side in (14, 28, 56, 112) for channels in (32, 64, 128, 256)],
    (1, 7, 7, 512),
    (1, 112, 112, 96),
    (12, 128, 128),
    (16, 256, 256),
    (1024, 1024, 4),
]
ROWS: Shapes = grid((64, 128, 256, 512, 1024), (128, 256, 512, 768, 1024, 3072))  # m, n
MLPS: Shapes = [
    *[(rows, wide, 4 * wide, wide) for rows in (32, 64, 128) for wide in (128, 256, 384, 512)],
    (128, 768, 3072, 768),
    *[
        (batch, 784, *hidden, 10)
        for batch in (16, 64, 256)
        for hidden in ((128,), (512, 256), (256, 128, 64))
    ],
]
ATTENTION: Shapes = grid((4, 8, 12, 16), (64, 128, 256), (32, 64))  # heads, rows, width of a head
RESIDUAL: Shapes = [(56, 56, 64), (28, 28, 128), (14, 14, 256), (7, 7, 512), *images((14, 28, 56), (16, 32))]
SEPARABLE: Shapes = [
    (112, 112, 64, 32),
    (56, 56, 128, 128),
    (28, 28, 256, 256),
    (14, 14, 512, 512),
    (7, 7, 1024, 1024),
    *images((14, 28, 56), (32, 64), (32, 64)),
]
