"""Texts of the actions on a linalg op."""

from __future__ import annotations

MOST_DIMENSIONS = 8  # iterators of an op that actions can name, but for `interchange`
SIZES = tuple(
    map(int, "1 2 3 4 5 6 7 8 10 12 14 16 20 24 28 30 32 48 56 60 64 96 102 112 128 192 256 512".split())
)
SHARED_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
REDUCTION_SIZES = (4, 8, 16, 32, 64)
SPLIT_SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32, 48, 64)
PAD_SIZES = (4, 8, 16)
DATA_TILE_SIZES = (8, 16, 32)
PACKED_OPERANDS = 2
PACKED_LOOPS = 4
FUSED_LOOPS = 6
UNROLL_FACTORS = (2, 3, 4, 8, 16)
FURTHER_LOOPS = tuple(range(PACKED_LOOPS + 1, 9))  # to pack outside of; at the end, so older actions keep
FURTHER_FACTORS = (5, 7)  # their numbers, which policies have learned; rows of 7 pixels are frequent
MOST_INTERCHANGED = 12  # iterators that can be exchanged: so any of these becomes one of the first eight
CURSOR = ("next", "done")  # they change no op

ACTIONS = (
    "next",
    "done",
    *(f"tile({d}, {size})" for d in range(MOST_DIMENSIONS) for size in SIZES),
    *(f"tile_parallel({d}, {size})" for d in range(MOST_DIMENSIONS) for size in SHARED_SIZES),
    *(f"tile_reduction({d}, {size})" for d in range(MOST_DIMENSIONS) for size in REDUCTION_SIZES),
    *(f"split({d}, {size})" for d in range(MOST_DIMENSIONS) for size in SPLIT_SIZES),
    *(f"pad({d}, {size})" for d in range(MOST_DIMENSIONS) for size in PAD_SIZES),
    *(f"interchange({i}, {j})" for i in range(MOST_DIMENSIONS) for j in range(i + 1, MOST_DIMENSIONS)),
    *(
        f"pack({operand}, {loops})"
        for operand in range(PACKED_OPERANDS)
        for loops in range(1, PACKED_LOOPS + 1)
    ),
    *(f"data_tile({size})" for size in DATA_TILE_SIZES),
    *(f"fuse({loops})" for loops in range(1, FUSED_LOOPS + 1)),
    "im2col",
    "decompose",
    "fold_unit_dims",
    "vectorize",
    "hoist",
    *(f"unroll({factor})" for factor in UNROLL_FACTORS),
    *(f"pack({operand}, {loops})" for operand in range(PACKED_OPERANDS) for loops in FURTHER_LOOPS),
    *(f"unroll({factor})" for factor in FURTHER_FACTORS),
    *(f"interchange({i}, {j})" for j in range(MOST_DIMENSIONS, MOST_INTERCHANGED) for i in range(j)),
)
INDEX = {text: number for number, text in enumerate(ACTIONS)}

DESCRIPTIONS = {
    "next": "Move the cursor to the op before this one",
    "done": "End the schedule: move the cursor past the first op",
    "tile": "Put the op into a loop along iterator {0}, in steps of {1}",
    "tile_parallel": "Put the op into a loop along iterator {0}, in steps of {1}, for threads",
    "tile_reduction": "Compute {1} partial sums along iterator {0}, and add them up afterwards",
    "split": "Split iterator {0} into the largest multiple of {1} and a tail, which becomes its own op",
    "pad": "Pad iterator {0} with zeros up to a multiple of {1}",
    "interchange": "Exchange iterators {0} and {1}",
    "pack": "Copy operand {0} before the {1} innermost loops, in the order of reading",
    "data_tile": "Store operands in blocks of {0} along the last iterator of the output",
    "fuse": "Compute the op in the {0} outer loops of the op that reads it",
    "im2col": "Turn the convolution into a product of matrices",
    "decompose": "Split a softmax into six ops, or make a window of one row one-dimensional",
    "fold_unit_dims": "Remove iterators with one value from a window's op",
    "vectorize": "Compute the tile by vector instructions",
    "hoist": "Keep values that each iteration reads and writes in registers",
    "unroll": "Repeat the innermost loop's body {0} times",
}
