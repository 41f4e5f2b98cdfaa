"""Our schedule as a C program calls it: a function of a shared object, linked and loaded."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from burnish.tasks.mlir_schedules.kernel import Arrays, CompiledSchedule
from burnish.tasks.mlir_schedules.outputs import link_shared
from burnish.tasks.mlir_schedules.payload import KERNEL


def load_linked(compiled: CompiledSchedule, arrays: Arrays) -> Callable[[], object]:
    """Return a call of a schedule's C function with some arrays; first fill the outputs with NaN."""
    for array in arrays[len(compiled.payload.inputs) :]:
        array.fill(np.nan)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.so"
        path.write_bytes(link_shared(compiled.object_file()))
        function = ctypes.CDLL(str(path))[KERNEL]
    function.restype = None
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    return lambda: function(*pointers)
