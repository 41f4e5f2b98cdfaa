"""Scheduled programs as functions of NumPy arrays."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.argument_checks import names_in
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.tasks.mlir_schedules.programs import MlirSource
from burnish.tasks.mlir_schedules.reference.evaluate import TensorType
from burnish.tasks.mlir_schedules.reference.inputs import DTYPES, bounds_of
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.tensors.arrays import ALIGNMENT, taken
from burnish.tasks.tensors.threads import THREADS, threads_of

Array = NDArray[Any]


def compile_schedule(
    program: str | Program, trace: Sequence[str] = (), *, threads: int = 1
) -> ScheduledFunction:
    """Compile a linalg program as scheduled: `compile_schedule("matmul:64x64x64")(a, b)`.

    Args:
        program: A Program, or its text, file or name (see burnish.tasks.mlir_schedules.programs).
        trace: The actions of a schedule, as `burnish.optimize` finds them; () gives MLIR's naive code.
        threads: The number of threads that share the parallel loops of a call.

    Raises:
        InputError: the number of threads is out of range.
        ProgramError, IllegalAction: the program or the schedule is not valid.
        LoweringFailed: MLIR cannot compile the schedule.
        Miscompiled: the results for random inputs differ from NumPy's.
        MissingTool: MLIR is not installed.
    """
    return ScheduledFunction(
        MlirSource().load(program).program if isinstance(program, str) else program, trace, threads=threads
    )


class ScheduledFunction:
    """A linalg program as a function: `function(a, b)` returns an array, or a tuple of several.

    Inputs are NumPy arrays, or anything with `__dlpack__` on the CPU, of exactly the program's shapes and
    dtypes; inputs that are not C-contiguous are copied. `out` is an array for the only output, or a sequence
    of arrays; they are C-contiguous, and share no memory with another argument. Several threads may call at
    the same time, because the interpreter's lock is released.

    Attributes:
        program: The program that is computed.
        trace: The actions of its schedule.
        threads: The number of threads that share its parallel loops.
        inputs, outputs: Types of arguments and results.
        compiled: The machine code.
    """

    def __init__(self, program: Program, trace: Sequence[str] = (), *, threads: int = 1) -> None:
        """Compile a program as scheduled, and compare it with NumPy; see `compile_schedule`."""
        trace = names_in("trace", trace)
        self.threads = threads_of({THREADS.name: str(threads)})
        session = open_program(program, threads)
        session.replay(trace)
        self.program, self.trace = program, tuple(trace)
        self.inputs, self.outputs = session.payload.inputs, session.payload.outputs
        self.compiled = session.compiled()  # keeps the machine code in memory
        self._types = [(one.shape, np.dtype(DTYPES[one.dtype])) for one in (*self.inputs, *self.outputs)]
        bounds = enumerate(bounds_of(program.content.decode()))
        self._bounds = [(number, below) for number, below in bounds if below is not None]
        formats = "".join(dtype.char for _, dtype in self._types)
        shapes = [shape for shape, _ in self._types]
        self._code = _native.CodeFunction(self.compiled, self.compiled.address, formats, shapes)

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Compute the outputs.

        Raises:
            InputError: an array is missing or has another shape or dtype, or an output is read-only, not
                C-contiguous, or shares memory with another argument; or an index is out of range.
        """
        if len(inputs) != len(self.inputs):
            self._taken(inputs, 0, len(self.inputs))
        for number, below in self._bounds:
            _check_indices(np.asarray(inputs[number]), number, below)
        if out is None:
            results = tuple([_empty(*kind) for kind in self._types[len(self.inputs) :]])
        else:
            results = tuple(out) if isinstance(out, tuple | list) else (out,)
        if len(results) != len(self.outputs) or self._code(inputs, results) >= 0:
            self._call_with_copies(inputs, results)
        if out is not None:
            return out
        return results[0] if len(results) == 1 else results

    def bind(self, *last: Any) -> BoundFunction:
        """Return a function of the first inputs, with fixed last inputs, such as the weights of a network.

        The fixed inputs are copied once, to memory that begins at a cache line.

        Raises:
            InputError: there are too many arrays, or one has another shape or dtype.
        """
        first = len(self.inputs) - len(last)
        return BoundFunction(self, self._taken(last, max(0, first), len(self.inputs)))

    def __repr__(self) -> str:
        steps = f"{len(self.trace)} step{'' if len(self.trace) == 1 else 's'}"
        taken, returned = (", ".join(map(_text, types)) for types in (self.inputs, self.outputs))
        return f"<{type(self).__name__} {self.program.name} ({taken}) -> ({returned}), {steps}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), threads=self.threads), (self.program, self.trace)

    def _call_with_copies(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Compute the outputs, with copies of inputs that the code cannot take as they are."""
        arrays = self._taken(inputs, 0, len(self.inputs))
        self._check_outputs(outputs, arrays)
        wrong = self._code(tuple(arrays), tuple(outputs))
        assert wrong < 0

    def _taken(self, given: Sequence[Any], first: int, end: int) -> list[Array]:
        """Return the program's inputs from `first` to `end` (exclusive) as arrays that the code takes."""
        if len(given) != end - first:
            expected = ", ".join(map(_text, self.inputs[first:end]))
            raise InputError(f"{len(given)} arrays; expected {end - first}: {expected}")
        return [
            value
            if type(value) is np.ndarray and _fits(value, *self._types[number])
            else self._array(value, f"input {number}", number)
            for number, value in enumerate(given, first)
        ]

    def _array(self, given: Any, name: str, number: int) -> Array:
        """Return an argument as an array that the code takes, without a copy if possible."""
        return np.require(taken(given, name, *self._types[number]), requirements=("C", "A"))

    def _check_outputs(self, outputs: Sequence[Any], inputs: Sequence[Array]) -> None:
        """Check that the arrays can be outputs; see `__call__`."""
        if len(outputs) != len(self.outputs):
            raise InputError(f"out: {len(outputs)} arrays; expected {len(self.outputs)}")
        for number, given in enumerate(outputs):
            name = f"output {number}"
            array = self._array(given, name, len(self.inputs) + number)
            if not isinstance(given, np.ndarray) or not given.flags.writeable:
                raise InputError(f"{name} is read-only; expected an array of NumPy that can be written")
            if array is not given:
                raise InputError(f"{name} is not C-contiguous; expected an array as np.empty makes it")
            if any(np.may_share_memory(array, other) for other in (*inputs, *outputs[:number])):
                raise InputError(f"{name} shares memory with another argument; expected one of its own")


class BoundFunction:
    """A function of a program's first inputs; the last ones are fixed."""

    def __init__(self, function: ScheduledFunction, last: Sequence[Array]) -> None:
        self.function = function
        self._held = tuple(map(_copy, last))
        self._count = len(function.inputs) - len(last)

    def __call__(self, *inputs: Any) -> Any:
        """Compute the outputs; see ScheduledFunction."""
        if len(inputs) != self._count:
            self.function._taken(inputs, 0, self._count)
        return self.function(*inputs, *self._held)


def _check_indices(array: Array, number: int, below: int) -> None:
    """Check that an input has indices from 0 to below - 1; the machine code would read other memory."""
    if array.dtype.kind == "i" and (wrong := (array < 0) | (array >= below)).any():
        where = [int(i) for i in np.argwhere(wrong)[0]]
        raise InputError(
            f"input {number}{where} is {array[tuple(where)]}; expected an index from 0 to {below - 1}"
        )


def _fits(array: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    flags = array.flags
    return array.dtype == dtype and array.shape == shape and flags.c_contiguous and flags.aligned


def _address(array: Any) -> int:
    """Return the address of an array's data; `array.ctypes.data` takes four times as long."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # the array is read-only
        address: int = array.ctypes.data
        return address


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array that begins at a cache line."""
    memory = np.empty(math.prod(shape) * dtype.itemsize + ALIGNMENT, dtype=np.uint8)
    return np.ndarray(shape, dtype, memory, -_address(memory) % ALIGNMENT)


def _copy(array: Array) -> Array:
    copy = _empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def _text(one: TensorType) -> str:
    return "x".join([*map(str, one.shape), one.dtype])
