"""Families of programs by name and extents: `matmul:512x512x512`, `conv2d:56x56x64x64`, `mlp:64x784x128x10`.

Products are m x n, with k summed over. Images are single, and NHWC unless the name says NCHW. For a
convolution, h, w and f (filters) are the output's, and c is the input's. For a pool all are the input's.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.mlir_schedules.writing import layers, shapes
from burnish.tasks.mlir_schedules.writing.draft import Draft, Tensor, Window
from burnish.tasks.mlir_schedules.writing.layers import Layout, Reduction

ANY = "..."  # after the last extent: more extents may follow
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


MNK, BMNK, MN = ("m", "n", "k"), ("b", "m", "n", "k"), ("m", "n")
HWFC, HWC = ("h", "w", "f", "c"), ("h", "w", "c")
SOME = ("n", ANY)


def _conv(shapes_of: shapes.Shapes, window: Window, layout: Layout = "nhwc") -> OpFamily:
    return OpFamily(HWFC, partial(_conv2d, window, layout), shapes_of)


FAMILIES: dict[str, OpFamily] = {
    "matmul": OpFamily(MNK, _matmul, shapes.MATMULS),
    "matmul-at": OpFamily(MNK, partial(_matmul, spec="km,kn->mn"), shapes.FEW_MATMULS),
    "matmul-bt": OpFamily(MNK, partial(_matmul, spec="mk,nk->mn"), shapes.FEW_MATMULS),
    "batch-matmul": OpFamily(BMNK, _batched, shapes.BATCHED),
    "batch-matmul-bt": OpFamily(BMNK, partial(_batched, spec="bmk,bnk->bmn"), shapes.BATCHED),
    "matmul-relu": OpFamily(MNK, _matmul_relu, shapes.FEW_MATMULS),
    "matmul-bias-relu": OpFamily(MNK, _linear_relu, shapes.FEW_MATMULS),
    "mlp": OpFamily(("rows", "in", "out", ANY), _mlp, shapes.MLPS),
    "attention": OpFamily(("b", "m", "k"), _attention, shapes.ATTENTION),
    "conv2d": _conv(shapes.CONV2D, Window(3)),
    "conv2d-1x1": _conv(shapes.CONV2D_POINTWISE, Window(1)),
    "conv2d-5x5": _conv(shapes.CONV2D_FEW, Window(5)),
    "conv2d-strided": _conv(shapes.CONV2D_STRIDED, Window(3, stride=2)),
    "conv2d-1x1-strided": _conv(shapes.CONV2D_STRIDED, Window(1, stride=2)),
    "conv2d-7x7-strided": _conv(shapes.CONV2D_FIRST, Window(7, stride=2)),
    "conv2d-dilated": _conv(shapes.CONV2D_FEW, Window(3, dilation=2)),
    "conv2d-nchw": _conv(shapes.CONV2D, Window(3), "nchw"),
    "conv2d-nchw-strided": _conv(shapes.CONV2D_STRIDED, Window(3, stride=2), "nchw"),
    "conv2d-padded": OpFamily(HWFC, _conv2d_padded, shapes.CONV2D_FEW),
    "conv2d-relu": OpFamily(HWFC, _conv2d_relu, shapes.CONV2D_FEW),
    "depthwise": OpFamily(HWC, partial(_depthwise, Window(3), "nhwc"), shapes.DEPTHWISE),
    "depthwise-strided": OpFamily(HWC, partial(_depthwise, Window(3, stride=2), "nhwc"), shapes.DEPTHWISE),
    "depthwise-nchw": OpFamily(HWC, partial(_depthwise, Window(3), "nchw"), shapes.DEPTHWISE),
    "separable": OpFamily(HWFC, _separable, shapes.SEPARABLE),
    "residual": OpFamily(HWC, _residual, shapes.RESIDUAL),
    "maxpool": OpFamily(HWC, partial(_pool, Window(2, stride=2), ("nhwc", "max")), shapes.POOLED),
    "maxpool-3x3": OpFamily(HWC, partial(_pool, Window(3, stride=2), ("nhwc", "max")), shapes.POOLED),
    "maxpool-nchw": OpFamily(HWC, partial(_pool, Window(2, stride=2), ("nchw", "max")), shapes.POOLED),
    "sumpool": OpFamily(HWC, partial(_pool, Window(2, stride=2), ("nhwc", "sum")), shapes.POOLED),
    "add": OpFamily(SOME, _add, shapes.ELEMENTWISE),
    "relu": OpFamily(SOME, partial(_of_one, layers.relu), shapes.ELEMENTWISE),
    "bias-relu": OpFamily(SOME, _bias_relu, shapes.ELEMENTWISE),
    "softmax": OpFamily(SOME, partial(_of_one, layers.softmax), shapes.ROWS),
    "layer-norm": OpFamily(MN, _layer_norm, shapes.ROWS),
    "sum-rows": OpFamily(MN, partial(_reduced, "mn->m", "sum"), shapes.ROWS),
    "sum-columns": OpFamily(MN, partial(_reduced, "mn->n", "sum"), shapes.ROWS),
    "max-rows": OpFamily(MN, partial(_reduced, "mn->m", "max"), shapes.ROWS),
    "transpose": OpFamily(MN, _transpose, shapes.ROWS),
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
    if not NUMBERS.fullmatch(extents):
        raise InputError(f"{text}: expected {family}:{FAMILIES[family].form}, numbers of at least 1")
    return FAMILIES[family].text([int(number) for number in extents.split("x")], text)
