"""A compiled loop nest that is called with arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from burnish import _native
from burnish.core.argument_checks import path_in
from burnish.core.errors import InputError, UnknownName
from burnish.files import write_atomically
from burnish.tasks.loop_nests.api.schedule import Schedule, follow
from burnish.tasks.loop_nests.c_interface import check_name, write_header, write_object
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest
from burnish.tasks.loop_nests.nest import DTYPES, Nest
from burnish.tasks.loop_nests.tree import Tree
from burnish.tasks.tensors.arrays import ALIGNMENT, Array, taken
from burnish.tasks.tensors.machine import host, machine_of


class CompiledKernel:
    """A loop nest as a function: `kernel(a, b)` computes the outputs of its statements.

    Inputs are given in the order in which the statements use them, or by name. They are NumPy arrays, or
    objects with `__dlpack__` on the CPU, and have exactly the kernel's shapes and dtype. An input is copied
    if it is not C-contiguous. It is also copied if its vectors are read often and it does not begin at a
    multiple of 64 bytes. `out` is an array for the only output, or a dict of arrays by name; each must be
    C-contiguous and share no memory with another argument. Without `out`, new arrays are returned: several
    outputs as a dict. Several threads may call at the same time: the kernel releases the interpreter's lock.

    Attributes:
        nest: The nest.
        schedule: Its schedule.
        inputs, outputs: The shapes of arguments and results, by name.
        dtype: The dtype of all arrays.
    """

    def __init__(self, nest: Nest, schedule: Schedule, compiled: CompiledNest | None = None) -> None:
        """Compile a nest as scheduled, unless `compiled` is given.

        Raises:
            InputError: the schedule is illegal for this nest.
        """
        self.nest, self.schedule = nest, schedule
        self.tree = follow(nest, schedule.trace)
        compiled = compiled or CompiledNest(self.tree, schedule.machine)
        self.inputs = {name: nest.shapes[name] for name in nest.inputs}
        self.outputs = {name: nest.shapes[name] for name in nest.outputs}
        self.dtype: np.dtype[Any] = np.dtype(DTYPES[nest.dtype])
        self._function = _native.ArrayFunction(
            compiled.native,
            self.dtype.char,
            [*self.inputs.values(), *self.outputs.values()],
            compiled.scratch_bytes,
            compiled.threads,
            [number for number, name in enumerate(self.inputs) if name in worth_aligning(self.tree)],
        )
        self._count = len(self.inputs)
        self._shapes = tuple(self.outputs.values())

    def __call__(self, /, *inputs: Any, out: Any = None, **named: Any) -> Any:
        """Compute the outputs.

        Raises:
            InputError: an array is missing, has another shape or dtype, or is read-only, or an output shares
                memory with another argument.
            UnknownName: the name of an input or output is unknown.
        """
        if named or len(inputs) != self._count:
            inputs = self._in_order(inputs, named)
        if out is None:
            outputs = tuple([np.empty(shape, self.dtype) for shape in self._shapes])
        else:
            outputs = self._given(out)
        if self._function(inputs, outputs) >= 0:
            self._call_with_copies(inputs, outputs)
        if out is not None:
            return out
        return outputs[0] if len(outputs) == 1 else dict(zip(self.outputs, outputs, strict=True))

    def save(self, path: str | Path, cpu: str | None = None) -> tuple[Path, Path]:
        """Write a C header and an object file: PATH.h and PATH.o, with a function of the path's last name.

        Args:
            path: The path without an ending; its folder is created.
            cpu: LLVM's name of the CPU to compile for, such as "x86-64-v3"; this machine's by default. The
                code for a given CPU is compared with NumPy if this machine can run it.

        Raises:
            InputError: the path is invalid, its last name is not a C name, or the files cannot be written.
            UnknownName: LLVM does not know the CPU.
            Miscompiled: the results differ from NumPy's.
        """
        path = path_in("path", path, "matmul")
        check_name(path.name)
        machine = replace(machine_of(cpu) if cpu else host(), threads=self.schedule.threads)
        header = write_header(self.nest, self.tree, path.name, machine).encode()
        code = write_object(self.tree, path.name, machine)
        if cpu and host().runs(machine):
            Bench(self.nest).check(CompiledNest(self.tree, machine))
        files = path.with_name(f"{path.name}.h"), path.with_name(f"{path.name}.o")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path.parent}: cannot make this folder: {error.strerror}") from None
        for file, content in zip(files, (header, code), strict=True):
            write_atomically(file, content)
        return files

    def __repr__(self) -> str:
        extents = ", ".join(f"{name}={size}" for name, size in self.nest.extents.items())
        return f"<{type(self).__name__} {'; '.join(map(str, self.nest.statements))} {self.dtype} {extents}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.nest, self.schedule)

    def _in_order(self, inputs: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
        expected = ", ".join(self.inputs)
        if len(inputs) > self._count:
            raise InputError(f"{len(inputs)} arrays; expected {self._count}: {expected}")
        names = [*self.inputs]
        for name in names[len(inputs) :]:
            if name not in named:
                raise InputError(f"{name} is missing; expected {expected}")
        for name in named:
            if name not in self.inputs:
                raise UnknownName.among("input", name, names)
            if name in names[: len(inputs)]:
                raise InputError(f"{name} is given twice")
        return (*inputs, *[named[name] for name in names[len(inputs) :]])

    def _given(self, out: Any) -> tuple[Any, ...]:
        if not isinstance(out, Mapping):
            if len(self.outputs) > 1:
                raise InputError(f"out: expected a dict of arrays: {', '.join(self.outputs)}")
            return (out,)
        for name in out:
            if name not in self.outputs:
                raise UnknownName.among("output", name, self.outputs)
        for name in self.outputs:
            if name not in out:
                raise InputError(f"out: {name} is missing; expected {', '.join(self.outputs)}")
        return tuple(out[name] for name in self.outputs)

    def _call_with_copies(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Call the native function with NumPy arrays, and with copies of inputs that it does not take.

        Raises:
            InputError: an array is invalid for another reason.
        """
        shapes = [*self.inputs.items(), *self.outputs.items()]
        given = [
            taken(array, name, shape, self.dtype)
            for (name, shape), array in zip(shapes, (*inputs, *outputs), strict=True)
        ]
        arrays, results = tuple(map(_plain, given[: self._count])), tuple(given[self._count :])
        wrong = self._function(arrays, results)
        if wrong < 0:
            return
        name, array = shapes[wrong][0], (*arrays, *results)[wrong]
        if not array.flags.writeable:
            raise InputError(f"{name} is read-only; expected an array that can be written")
        if array is not _plain(array):
            raise InputError(f"{name} is not C-contiguous; expected an array as np.empty makes it")
        raise InputError(f"{name} shares memory with another argument; expected an array of its own")


def _plain(array: Array) -> Array:
    """Return an array, or a copy if it is not in C order or not aligned to its elements."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.require(array, requirements=("C", "A"))


REUSE = 32  # reads of an element, reuse in tiles included, that pay for a copy: misaligned vectors are slow


def worth_aligning(tree: Tree) -> set[str]:
    """Return the inputs whose vectors are read so often that a copy costs less than misaligned reads.

    A product of 256 x 256 matrices took 192 us with an aligned second operand, and 300 us with one that began
    48 bytes after a multiple of 64 (AVX-512). A misaligned vector touches two cache lines.
    """
    nest, found = tree.nest, set()
    for place in tree.places.values():
        if place.loop.kind != "vectorize":
            continue
        packed = {name for loop in tree.above(place.path) for name in loop.packs}
        for number in tree.leaves(place.path):
            statement = nest.statements[number]
            reads = math.prod(nest.extents[name] for name in statement.iterators)
            for access in statement.accesses:
                if access.tensor in packed or nest.strides(access).get(place.loop.iterator) != 1:
                    continue
                shape = nest.shapes[access.tensor]
                rows_begin_lines = len(shape) == 1 or shape[-1] * nest.itemsize % ALIGNMENT == 0
                if access.tensor in nest.inputs and rows_begin_lines and reads >= REUSE * math.prod(shape):
                    found.add(access.tensor)
    return found
