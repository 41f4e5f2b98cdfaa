"""Contractions in NumPy's notation, `einsum("mk,kn->mn", a, b)`, compiled for the shapes of the arrays."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from burnish.core.argument_checks import check_class
from burnish.core.errors import InputError
from burnish.tasks.loop_nests.api.compilation import compile_nest, read
from burnish.tasks.loop_nests.api.kernel import CompiledKernel
from burnish.tasks.tensors.arrays import Array

KEPT = 256  # kernels cached in this process
SUBSCRIPTS = re.compile(r"[A-Za-z]*(,[A-Za-z]*)?(->[A-Za-z]*)?")


def einsum(subscripts: str, *operands: Array, refine_seconds: float = 0.0) -> Array:
    """Compute np.einsum of one or two arrays; the first call for their shapes compiles a kernel.

    Args:
        subscripts: A letter for each dimension, "mk,kn->mn". Without an arrow, the result has the letters
            that occur once, in alphabetical order. "..." is not supported.
        operands: Arrays of the same dtype, float32 or float64; those that are not C-contiguous are copied.
        refine_seconds: See burnish.loops.compile.

    Raises:
        InputError: the subscripts cannot be parsed, or do not fit the arrays.
    """
    check_class("subscripts", subscripts, str, "a text, such as 'mk,kn->mn'")
    arrays = [np.asarray(operand) for operand in operands]
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) != 1:
        raise InputError(
            f"einsum: dtypes {', '.join(map(str, dtypes)) or '(none)'}; expected the same one for all "
            "operands"
        )
    kernel = _kernel(subscripts, tuple(array.shape for array in arrays), dtypes.pop(), refine_seconds)
    result: Array = kernel(*arrays)
    return result


@lru_cache(KEPT)
def _kernel(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], dtype: np.dtype[Any], refine_seconds: float
) -> CompiledKernel:
    text = subscripts.replace(" ", "")
    if not SUBSCRIPTS.fullmatch(text):
        raise InputError(
            f"einsum: {subscripts!r}: expected letters of one or two operands, as in 'mk,kn->mn'"
        )
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if not arrow:
        result = "".join(letter for letter in sorted({*left} - {","}) if left.count(letter) == 1)
    if len(terms) != len(shapes):
        raise InputError(f"einsum: {subscripts!r}: {len(shapes)} arrays for {len(terms)} operands")
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        if len(term) != len(shape):
            raise InputError(f"einsum: {term!r} of {subscripts!r} has another shape than {shape}")
        for letter, size in zip(term, shape, strict=True):
            if extents.setdefault(letter, size) != size:
                raise InputError(
                    f"einsum: {letter} of {subscripts!r} is {extents[letter]}, but {size} in {term!r}"
                )
    if unknown := {*result} - {*extents}:
        raise InputError(f"einsum: {unknown.pop()} of {subscripts!r} is in no operand")
    equals = "+=" if {*extents} - {*result} else "="
    reads = [f"operand{number}[{','.join(term)}]" for number, term in enumerate(terms)]
    statement = f"result[{','.join(result)}] {equals} {' * '.join(reads)}"
    return compile_nest(read(statement, dtype, extents), refine_seconds=refine_seconds)
