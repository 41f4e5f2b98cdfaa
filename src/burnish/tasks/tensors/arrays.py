"""Arrays of NumPy that compiled code runs on: their alignment, and arguments that users pass."""

from __future__ import annotations

import math
import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError

Array = NDArray[Any]

ALIGNMENT = 64  # bytes: a cache line, and the longest vector
LARGE_BYTES = 1 << 19  # arrays from this size on
PAGE_BYTES = 1 << 21  # are in huge pages of this size


def aligned(shape: tuple[int, ...], dtype: type[np.number[Any]], place: int = 0) -> Array:
    """Return an array of zeros that begins at a multiple of ALIGNMENT bytes.

    Large arrays are in huge pages. With small pages, times depend on which ones a process gets: by a factor
    of up to 1.6 for a matrix product of size 512. `place` shifts a large array within its page, because
    arrays at equal offsets would evict each other's lines from the cache.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE_BYTES:
        memory = np.zeros(size + ALIGNMENT, dtype=np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
    else:
        apart = place % 16 * 3 * ALIGNMENT
        mapping = mmap.mmap(-1, size + apart + PAGE_BYTES)
        with suppress(AttributeError, OSError):  # not on Linux
            mapping.madvise(mmap.MADV_HUGEPAGE)
        memory = np.frombuffer(mapping, dtype=np.uint8)
        start = -memory.ctypes.data % PAGE_BYTES + apart
    return memory[start : start + size].view(dtype).reshape(shape)


def placed(array: Array, place: int = 0) -> Array:
    """Return a copy that begins at an address that is a multiple of ALIGNMENT bytes; see `aligned`."""
    copy = aligned(array.shape, array.dtype.type, place)
    copy[...] = array
    return copy


def taken(given: Any, name: str, shape: tuple[int, ...] | None, dtype: Any) -> Array:
    """Return an argument as a NumPy array, without a copy.

    Raises:
        InputError: the argument is not an array on the CPU, or has another shape or dtype.
    """
    if not isinstance(given, np.ndarray):
        if not hasattr(given, "__dlpack__"):
            kind = type(given).__name__
            raise InputError(f"{name} is a {kind}; expected an array of NumPy, or one with __dlpack__")
        try:
            given = np.from_dlpack(given)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(
                f"{name}: NumPy cannot read this array; expected one on the CPU: {error}"
            ) from None
    if given.dtype != dtype:
        raise InputError(f"{name} has the dtype {given.dtype}; expected {dtype}")
    if given.shape != shape:
        raise InputError(f"{name} has the shape {given.shape}; expected {shape}")
    array: Array = given
    return array
