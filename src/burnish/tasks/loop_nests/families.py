"""Families of nests, named with their extents (`matmul:64x64x64`), and their training and test sets."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.loop_nests.nest import DType, Nest, make_nest
from burnish.tasks.loop_nests.parsing import parse_statement

HELD_OUT = 10  # about one shape of this many is in the test split


@dataclass(frozen=True)
class Family:
    """Nests that differ in their extents only."""

    statements: tuple[str, ...]
    iterators: str  # a letter each; their extents are in a name, in this order
    shapes: Sequence[tuple[int, ...]]  # in the training and test sets
    fixed: Mapping[str, int] = field(default_factory=dict)  # extents that are not in a name

    def nest(self, extents: Sequence[int], dtype: DType, name: str) -> Nest:
        """Return the nest with some extents.

        Raises:
            InputError: the number of extents is not that of `iterators`.
        """
        if len(extents) != len(self.iterators):
            raise InputError(f"{name}: expected {'x'.join(self.iterators)}, one number for each")
        known = dict(zip(self.iterators, extents, strict=True)) | dict(self.fixed)
        statements = [parse_statement(text, name) for text in self.statements]
        return make_nest(statements, known, dtype, name)


def _cube(sizes: Sequence[int], rank: int) -> list[tuple[int, ...]]:
    return list(itertools.product(sizes, repeat=rank))


_SIDES = range(64, 257, 16)  # as in LoopTune
_FEW = _cube((32, 48, 64, 96, 128), 3)
_MATRICES = _cube((128, 256, 512, 1024), 2)
_IMAGES = _cube((128, 256, 512, 768, 1024), 2)
_SIXES = _cube((8, 12, 16), 6)
_VECTORS = [(n << 10,) for n in (4, 16, 64, 256, 1024)]
_CONV1D = [(x << 10, i) for x in (4, 16, 64, 256) for i in (3, 7, 15, 31)]
_CONV2D = [(s, s, f, c) for s in (14, 28, 56) for f in (16, 32, 64) for c in (16, 32, 64)]
_DEPTHWISE = [(s, s, c) for s in (14, 28, 56, 112) for c in (16, 32, 64, 96)]
_BATCHES = [(b, m, n, k) for b in (8, 32, 64) for m, n, k in _cube((16, 24, 32, 48), 3)]
_WINDOW = {"i": 3, "j": 3}
_STENCIL5 = "o[y,x] = 0.2 * (a[y+1,x+1] + a[y,x+1] + a[y+2,x+1] + a[y+1,x] + a[y+1,x+2])"
_STENCIL7 = (
    "o[z,y,x] = 0.5*a[z+1,y+1,x+1] + 0.08*(a[z,y+1,x+1] + a[z+2,y+1,x+1]"
    " + a[z+1,y,x+1] + a[z+1,y+2,x+1] + a[z+1,y+1,x] + a[z+1,y+1,x+2])"
)
_SOFTMAX = ("h[m] max= a[m,n]", "e[m,n] = exp(a[m,n] - h[m])", "s[m] += e[m,n]", "o[m,n] = e[m,n] / s[m]")

FAMILIES: dict[str, Family] = {
    "matmul": Family(("c[m,n] += a[m,k] * b[k,n]",), "mnk", _cube(_SIDES, 3)),
    "matmul-large": Family(("c[m,n] += a[m,k] * b[k,n]",), "mnk", _cube((320, 448, 640, 896), 3)),
    "matmul-at": Family(("c[m,n] += a[k,m] * b[k,n]",), "mnk", _FEW),
    "matmul-bt": Family(("c[m,n] += a[m,k] * b[n,k]",), "mnk", _FEW),
    "batched-matmul": Family(("c[b,m,n] += x[b,m,k] * y[b,k,n]",), "bmnk", _BATCHES),
    "matmul-relu": Family(("c[m,n] += a[m,k] * b[k,n]", "r[m,n] = max(c[m,n] + s[n], 0)"), "mnk", _FEW),
    "conv1d": Family(("o[x] += a[x+i] * w[i]",), "xi", _CONV1D),
    "conv1d-strided": Family(("o[x] += a[2*x+i] * w[i]",), "xi", _CONV1D),
    "conv2d": Family(("o[y,x,f] += a[y+i,x+j,c] * w[i,j,c,f]",), "yxfc", _CONV2D, _WINDOW),
    "conv2d-strided": Family(("o[y,x,f] += a[2*y+i,2*x+j,c] * w[i,j,c,f]",), "yxfc", _CONV2D, _WINDOW),
    "depthwise": Family(("o[y,x,c] += a[y+i,x+j,c] * w[i,j,c]",), "yxc", _DEPTHWISE, _WINDOW),
    "stencil5": Family((_STENCIL5,), "yx", _cube((128, 256, 384, 512, 768, 1024), 2)),
    "stencil9": Family(("o[y,x] += a[y+i,x+j] * w[i,j]",), "yx", _IMAGES, _WINDOW),
    "stencil7": Family((_STENCIL7,), "zyx", _FEW),
    "contraction-ab": Family(("o[a,b,e,f] += x[a,b,c,d] * y[c,d,e,f]",), "abcdef", _SIXES[::11]),
    "contraction-ac": Family(("o[a,b,e,f] += x[a,c,b,d] * y[d,c,e,f]",), "abcdef", _SIXES[5::11]),
    "sum-rows": Family(("r[m] += a[m,n]",), "mn", _MATRICES),
    "sum-columns": Family(("r[n] += a[m,n]",), "mn", _MATRICES),
    "max-rows": Family(("r[m] max= a[m,n]",), "mn", _MATRICES),
    "outer": Family(("o[m,n] = x[m] * y[n]",), "mn", _MATRICES),
    "scaled-sum": Family(("o[n] = 2 * x[n] + y[n]",), "n", _VECTORS),
    "relu-chain": Family(("t[n] = x[n] * y[n] + z[n]", "o[n] = max(t[n], 0) * 0.5"), "n", _VECTORS),
    "softmax": Family(_SOFTMAX, "mn", _cube((64, 128, 256, 512), 2)),
}


def find(text: str, dtype: DType = "f32") -> Nest:
    """Return the nest of a family and extents, such as 'matmul:64x64x64'.

    Raises:
        UnknownName: there is no such family.
        InputError: the extents are not one number for each iterator, with 'x' between them.
    """
    family, _, extents = text.partition(":")
    if family not in FAMILIES:
        raise UnknownName.among("family of nests", family, FAMILIES)
    try:
        numbers = [int(number) for number in extents.split("x")]
    except ValueError:
        raise InputError(f"{text}: expected {family}:{'x'.join(FAMILIES[family].iterators)}") from None
    return FAMILIES[family].nest(numbers, dtype, text)


def names(family: str, split: str = "all") -> Iterator[str]:
    """Yield a family's names, by split: 'all', 'test' (one in ten, by the digest of the name), or 'train'."""
    for shape in FAMILIES[family].shapes:
        name = f"{family}:{'x'.join(map(str, shape))}"
        held_out = hashlib.blake2b(name.encode(), digest_size=4).digest()[0] % HELD_OUT == 0
        if split in ("all", "test" if held_out else "train"):
            yield name
