"""Scheduled modules compiled into this process: run on NumPy arrays, checked, and timed."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import CompilerCrash, Miscompiled
from burnish.tasks.mlir_schedules import bindings, lowering, parallel
from burnish.tasks.mlir_schedules.payload import KERNEL, Payload
from burnish.tasks.mlir_schedules.reference.evaluate import evaluate, signature
from burnish.tasks.mlir_schedules.reference.inputs import DTYPES, inputs_of
from burnish.tasks.mlir_schedules.reference.work import tolerance
from burnish.tasks.tensors.arrays import aligned
from burnish.tasks.tensors.threads import POOL, object_with_threads

OPTIMIZATION = 3  # LLVM's level
SAMPLES = 10  # timed samples; the least counts
COLD_SAMPLES = 6  # the same with data in no cache
BATCH_SECONDS = 1e-3  # of calls in one sample

Arrays = Sequence[NDArray[Any]]


class LoweringFailed(CompilerCrash):
    """A failure of MLIR to compile a schedule."""


class CompiledSchedule:
    """A payload's machine code."""

    def __init__(self, payload: Payload, module: Any = None, name: str = KERNEL, threads: int = 1) -> None:
        """Compile to position-independent code, as in a shared object.

        module: the payload's lowered module, if there is one; it is changed if `name` is given.
        threads: the number of threads that share the iterations of a parallel loop.

        Raises:
            LoweringFailed: a pass fails, or the code calls a function that does not exist.
        """
        self.payload = payload
        self.module = module or lowered(payload, threads)
        self.threads = threads if parallel.is_parallel(self.module) else 1
        engine = bindings.bindings("execution_engine").ExecutionEngine
        with bindings.context():
            if name != KERNEL:
                _rename(self.module, name)
            try:
                self.engine = engine(self.module, opt_level=OPTIMIZATION, enable_pic=True)
            except RuntimeError as error:
                raise LoweringFailed(bindings.first_line(str(error))) from None
            if self.threads > 1:
                pool = ctypes.c_void_p(_native.parallel_function())
                self.engine.raw_register_runtime(POOL, pool)
            self.address = int(self.engine.raw_lookup(name) or 0)
        if not self.address:
            raise LoweringFailed("the code cannot be linked: it calls a missing function")

    def object_file(self) -> bytes:
        """Return an object file of the code; the engine adds a second function to it.

        Raises:
            MissingTool: clang is not installed, which adds the threads of parallel loops.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "kernel.o"
            self.engine.dump_to_object_file(str(path))
            code = path.read_bytes()
        return object_with_threads(code) if self.threads > 1 else code

    def run(self, arrays: Arrays) -> None:
        """Run the code on the inputs, then the outputs, all in C order."""
        pointers = _Pointers(arrays)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)(pointers.all.ctypes.data)

    def seconds(self, arrays: Arrays, samples: int = SAMPLES) -> float:
        """Return the least CPU time of a call, in seconds; with several threads, the least elapsed time."""
        pointers = _Pointers(arrays).all.tolist()
        passing = self.threads > 1
        times: list[float] = _native.time_calls(self.address, pointers, samples, BATCH_SECONDS, passing)
        return min(times)

    def cold_seconds(self, arrays: Arrays, cold: Sequence[int], samples: int = COLD_SAMPLES) -> float:
        """Return the least CPU time of a call, in seconds, with some arrays (`cold`) in no cache."""
        pointers = _Pointers(arrays)
        memory = [(arrays[i].ctypes.data, arrays[i].nbytes) for i in cold]
        return min(_native.time_cold_calls(self.address, pointers.all.tolist(), samples, memory))


class _Pointers:
    """Arguments of compiled code: for each array the address of a pointer to it."""

    def __init__(self, arrays: Arrays) -> None:
        self.data = np.array([array.ctypes.data for array in arrays], dtype=np.uint64)
        self.all = self.data.ctypes.data + self.data.itemsize * np.arange(len(arrays), dtype=np.uint64)


def lowered(payload: Payload, threads: int = 1) -> Any:
    """Return a copy of a payload's module in LLVM's dialect; see `lowering.lower`.

    Raises:
        LoweringFailed: a pass fails.
    """
    module = bindings.clone(payload.module)
    try:
        lowering.finish(module)
        lowering.lower(module, threads)
    except bindings.bindings("ir").MLIRError as error:
        raise LoweringFailed(bindings.first_line(str(error))) from None
    return module


def _rename(module: Any, name: str) -> None:
    """Give the kernel of a lowered module another name."""
    ir = bindings.bindings("ir")
    (kernel,) = (op for op in module.body.operations if op.operation.attributes["sym_name"].value == KERNEL)
    kernel.operation.attributes["sym_name"] = ir.StringAttr.get(name)


def code_digest(module: Any) -> str:
    """Return the identity of lowered code: 32 hexadecimal digits."""
    return hashlib.blake2b(str(module).encode(), digest_size=16).hexdigest()


class Trial:
    """Inputs for a program, by default random ones, and the outputs that are expected."""

    def __init__(self, text: str, inputs: Arrays | None = None) -> None:
        self.text = text
        self._given = inputs

    @cached_property
    def inputs(self) -> list[NDArray[Any]]:
        """The given inputs, or random ones, seeded by the program's text."""
        return inputs_of(self.text) if self._given is None else list(self._given)

    @cached_property
    def expected(self) -> list[NDArray[np.float64]]:
        """The outputs that NumPy computes in double precision."""
        return evaluate(self.text, self.inputs)

    @cached_property
    def outputs(self) -> list[NDArray[Any]]:
        """Arrays for the outputs of compiled code."""
        types = signature(self.text).outputs
        first = len(self.inputs)
        return [aligned(one.shape, DTYPES[one.dtype], first + i) for i, one in enumerate(types)]

    @property
    def arrays(self) -> Arrays:
        """The inputs, then the outputs."""
        return [*self.inputs, *self.outputs]

    @cached_property
    def tolerances(self) -> list[float]:
        """The allowed error of each output, relative to 1 + its largest value."""
        return [tolerance(self.text, one.dtype) for one in signature(self.text).outputs]

    @cached_property
    def largest_errors(self) -> list[float]:
        """The allowed absolute error of each output."""
        largest = [np.abs(one[np.isfinite(one)]).max(initial=0) for one in self.expected]
        return [one * (1 + float(size)) for one, size in zip(self.tolerances, largest, strict=True)]

    def check(self, compiled: CompiledSchedule) -> None:
        """Run compiled code, and compare its outputs with the expected ones.

        Raises:
            Miscompiled: an output differs by more than rounding.
        """
        for array in self.outputs:
            array.fill(np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).min)
        compiled.run(self.arrays)
        self.compare(self.outputs)

    def compare(self, found: Arrays) -> None:
        """Compare outputs with the expected ones.

        Raises:
            Miscompiled: an output has another shape, or differs by more than rounding.
        """
        compared = zip(found, self.expected, self.largest_errors, strict=True)
        for number, (array, expected, most) in enumerate(compared):
            if array.shape != expected.shape:
                raise Miscompiled(f"result {number} has the shape {array.shape}; expected {expected.shape}")
            with np.errstate(invalid="ignore"):
                if (np.abs(array - expected) <= most).all():
                    continue
            wrong = ~np.isclose(array, expected, rtol=0, atol=most, equal_nan=True)
            if wrong.any():
                where = tuple(int(i) for i in np.argwhere(wrong)[0])
                raise Miscompiled(
                    f"result {number}{list(where)} is {array[where]}, not {expected[where]}; "
                    f"{wrong.sum()} of {wrong.size} elements differ"
                )
