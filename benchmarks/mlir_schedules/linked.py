"""Ours as a C program has it: the function of a shared object, which is linked and loaded."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from burnish.tasks.mlir_schedules.c_interface import link_shared, write_object
from burnish.tasks.mlir_schedules.kernel import Arrays
from burnish.tasks.mlir_schedules.payload import KERNEL, Payload


def load_linked(payload: Payload, arrays: Arrays) -> Callable[[], object]:
    """Return a call of a schedule's C function with some arrays, the outputs filled with NaN before."""
    for array in arrays[len(payload.inputs) :]:
        array.fill(np.nan)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.so"
        path.write_bytes(link_shared(write_object(payload, KERNEL)))
        function = ctypes.CDLL(str(path))[KERNEL]
    function.restype = None
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return lambda: function(*pointers)
