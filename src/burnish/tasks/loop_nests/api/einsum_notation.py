"""Contractions in NumPy's notation, `einsum("mk,kn->mn", a, b)`, compiled for the shapes of the arrays.

Three operands and more are contracted step by step in the order of np.einsum_path: a kernel for each step.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from burnish.core.argument_checks import check_class
from burnish.core.errors import InputError
from burnish.tasks.loop_nests.api.compilation import compile_nest, dtype_of, read
from burnish.tasks.loop_nests.api.kernel import CompiledKernel
from burnish.tasks.loop_nests.nest import MOST_ELEMENTS
from burnish.tasks.tensors.arrays import Array

MOST_OPTIMAL = 5  # operands; np.einsum_path tries all orders of so many in 2 ms, of 7 in a second
KEPT = 256  # contractions, and as many kernels, cached in this process
TERM = re.compile(r"[A-Za-z]*(\.\.\.[A-Za-z]*)?")
ELLIPSIS = "..."
Shapes = tuple[tuple[int, ...], ...]


def einsum(subscripts: str, *operands: Array, refine_seconds: float = 0.0) -> Array:
    """Compute np.einsum of arrays; the first call for their shapes compiles its kernels.

    Args:
        subscripts: A letter for each dimension, "mk,kn->mn"; "..." for dimensions that are broadcast. Without
            an arrow, the result has the dimensions of "...", then the letters that occur once, sorted.
        operands: Arrays of the same dtype, float32 or float64; those that are not C-contiguous are copied.
            As in NumPy, a dimension of 1 fits each other one. A sum over nothing is 0.
        refine_seconds: See burnish.loops.compile; for each kernel.

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
    contraction = _contraction(subscripts, tuple(array.shape for array in arrays), dtypes.pop())
    return contraction(arrays, refine_seconds)


@dataclass(frozen=True)
class _Contraction:
    """A contraction in steps; the result of each is appended to the operands that are left."""

    terms: tuple[str, ...]  # letters of the operands, without the dimensions of 1 that are broadcast
    dropped: tuple[tuple[int, ...], ...]  # those dimensions, by operand
    steps: tuple[tuple[tuple[int, ...], str], ...]  # numbers of operands, and the letters of their result
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __call__(self, operands: Sequence[Array], refine_seconds: float) -> Array:
        if 0 in self.shape or any(array.size == 0 for array in operands):
            return np.zeros(self.shape, self.dtype)  # no elements, or sums over nothing
        left = [array.squeeze(axes) for array, axes in zip(operands, self.dropped, strict=True)]
        terms = list(self.terms)
        for numbers, result in self.steps:
            taken = [left[i] for i in numbers]
            text = ",".join(terms[i] for i in numbers) + "->" + result
            kernel = _kernel(text, tuple(array.shape for array in taken), self.dtype, refine_seconds)
            computed = kernel(*taken) if kernel else np.prod(taken, axis=0, dtype=self.dtype)
            left = [one for i, one in enumerate(left) if i not in numbers] + [computed]
            terms = [one for i, one in enumerate(terms) if i not in numbers] + [result]
        found: Array = np.ascontiguousarray(left[0]).reshape(self.shape)
        return found


@lru_cache(KEPT)
def _contraction(subscripts: str, shapes: Shapes, dtype: np.dtype[Any]) -> _Contraction:
    dtype_of(dtype)
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if not all(TERM.fullmatch(term) for term in (*terms, result)):
        raise InputError(
            f"einsum: {subscripts!r}: expected letters of operands, and at most one '...' in each, as in "
            "'mk,kn->mn' or '...k,k->...'"
        )
    if len(terms) != len(shapes):
        raise InputError(f"einsum: {subscripts!r}: {len(shapes)} arrays for {len(terms)} operands")
    terms, broadcast = _without_ellipsis(subscripts, terms, shapes)
    if not arrow:
        once = "".join(letter for letter in sorted({*left} - {*",."}) if left.count(letter) == 1)
        result = broadcast + once
    elif ELLIPSIS in result:
        result = result.replace(ELLIPSIS, broadcast)
    elif broadcast:
        raise InputError(
            f"einsum: {subscripts!r}: the result lacks '...', which has {len(broadcast)} dimensions"
        )
    extents = _extents(subscripts, terms, shapes)
    if unknown := {*result} - {*extents}:
        raise InputError(f"einsum: {unknown.pop()} of {subscripts!r} is in no operand")
    if twice := [letter for letter in result if result.count(letter) > 1]:
        raise InputError(f"einsum: {twice[0]} of {subscripts!r} is twice in the result; expected once")
    stretched = [
        tuple(i for i, (letter, size) in enumerate(zip(term, shape, strict=True)) if size < extents[letter])
        for term, shape in zip(terms, shapes, strict=True)
    ]
    kept = [
        "".join(letter for i, letter in enumerate(term) if i not in axes)
        for term, axes in zip(terms, stretched, strict=True)
    ]
    shape = tuple(extents[letter] for letter in result)
    steps = _steps(kept, result, extents) if all(extents.values()) else ()
    return _Contraction(tuple(kept), tuple(stretched), steps, shape, dtype)


def _without_ellipsis(subscripts: str, terms: Sequence[str], shapes: Shapes) -> tuple[list[str], str]:
    """Return the terms with letters in place of "...", and the letters of the longest one."""
    counts = []
    for term, shape in zip(terms, shapes, strict=True):
        letters = len(term.replace(ELLIPSIS, ""))
        if len(shape) < letters or (len(shape) > letters and ELLIPSIS not in term):
            raise InputError(f"einsum: {term!r} of {subscripts!r} has another shape than {shape}")
        counts.append(len(shape) - letters)
    free = [letter for letter in string.ascii_letters if letter not in subscripts]
    if len(free) < max(counts):
        raise InputError(
            f"einsum: {subscripts!r}: '...' has {max(counts)} dimensions; {len(free)} letters are left"
        )
    broadcast = "".join(free[: max(counts)])
    named = [
        term.replace(ELLIPSIS, broadcast[len(broadcast) - count :])
        for term, count in zip(terms, counts, strict=True)
    ]
    return named, broadcast


def _extents(subscripts: str, terms: Sequence[str], shapes: Shapes) -> dict[str, int]:
    """Return the extent of each letter; a dimension of 1 fits each other one."""
    extents: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        own: dict[str, int] = {}  # a diagonal has no broadcasting
        for letter, size in zip(term, shape, strict=True):
            known = extents.setdefault(letter, size)
            if own.setdefault(letter, size) != size or (size not in (1, known) and known != 1):
                where = letter if letter in subscripts else "'...'"
                raise InputError(
                    f"einsum: {where} of {subscripts!r} is {own[letter] if own[letter] != size else known}, "
                    f"but {size} in {term!r}"
                )
            extents[letter] = size if known == 1 else known
    return extents


def _steps(
    terms: Sequence[str], result: str, extents: dict[str, int]
) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Return the order of contractions: the operands of each, and the letters of what it computes.

    A letter is summed where no other operand and not the result has it.
    """
    shapes = [np.broadcast_to(np.float32(0), [extents[letter] for letter in term]) for term in terms]
    order = "optimal" if len(terms) <= MOST_OPTIMAL else "greedy"
    path = np.einsum_path(f"{','.join(terms)}->{result}", *shapes, optimize=(order, MOST_ELEMENTS))[0][1:]
    left, steps = list(terms), []
    for numbers in path:
        rest = [one for i, one in enumerate(left) if i not in numbers]
        taken = dict.fromkeys("".join(left[i] for i in numbers))
        needed = {*result, *"".join(rest)}
        made = "".join(letter for letter in taken if letter in needed) if rest else result
        left = [*rest, made]
        steps.append((tuple(numbers), made))
    return tuple(steps)


@lru_cache(KEPT)
def _kernel(
    subscripts: str, shapes: Shapes, dtype: np.dtype[Any], refine_seconds: float
) -> CompiledKernel | None:
    """Compile one step; None for a product of single numbers, which needs no loop."""
    left, _, result = subscripts.partition("->")
    terms = left.split(",")
    extents = {
        letter: size
        for term, shape in zip(terms, shapes, strict=True)
        for letter, size in zip(term, shape, strict=True)
    }
    if not extents:
        return None
    equals = "+=" if {*extents} - {*result} else "="
    reads = [f"operand{number}[{','.join(term)}]" for number, term in enumerate(terms)]
    statement = f"result[{','.join(result)}] {equals} {' * '.join(reads)}"
    return compile_nest(read(statement, dtype, extents), refine_seconds=refine_seconds)
