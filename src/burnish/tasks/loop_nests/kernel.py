"""Compiled loop trees in this process: run on NumPy arrays, compared with NumPy, and timed."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from burnish import _native
from burnish.core.errors import CompilerCrash, Miscompiled
from burnish.tasks.loop_nests.lowering.lower import KERNEL, lower
from burnish.tasks.loop_nests.nest import DTYPES, Nest
from burnish.tasks.loop_nests.reference import evaluate
from burnish.tasks.loop_nests.slices import Slices, slices_of
from burnish.tasks.loop_nests.tiles import MOST_LINES, emitted_lines
from burnish.tasks.loop_nests.tree import Tree
from burnish.tasks.tensors.arrays import Array, aligned
from burnish.tasks.tensors.machine import Machine

PASSES = "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"
"""Few passes: the lowered text already has the intended form; more passes take longer and gain no speed."""

DIFFERENT = 1_000_003  # random numbers in an array, then repeated; prime, unlike strides through memory
SAMPLES = 7  # of a time; the least one counts
BATCH_SECONDS = 1e-3  # of calls in one sample
TOLERANCES = {
    "f32": 1e-4,
    "f64": 1e-10,
}  # of the error relative to 1 + the largest value, for sums of up to a million terms


class CodeTooLong(CompilerCrash):
    """A schedule has too many loop bodies, including those of tails, to be compiled."""


class CompiledNest:
    """A loop tree's machine code and its scratch memory."""

    def __init__(self, tree: Tree, machine: Machine) -> None:
        """Compile a loop tree.

        Raises:
            CodeTooLong: compiling would take more than about a second.
            CompilerCrash: LLVM rejects the code, which is a defect of the lowering.
        """
        self.nest = tree.nest
        lines = emitted_lines(tree, MOST_LINES)
        if lines > MOST_LINES:
            raise CodeTooLong(
                f"{tree.nest.statements[0]}: the code of all bodies, including tails, has about "
                f"{lines} lines or more; expected at most {MOST_LINES}: unroll less, or split by "
                "divisors of the extents"
            )
        lowered = lower(tree, machine.vector_bytes)
        try:
            self.native = _native.Kernel(lowered.text, KERNEL, PASSES, machine.native)
        except (_native.FatalError, _native.PipelineError) as error:
            raise CompilerCrash(f"{tree.nest.statements[0]}: {error}") from None
        self.threads = machine.threads if lowered.thread_bytes else 1
        self.scratch_bytes = lowered.scratch_bytes + self.threads * lowered.thread_bytes
        self._scratch = aligned((max(1, self.scratch_bytes),), np.uint8)

    def run(self, arrays: Mapping[str, Array]) -> None:
        """Compute the outputs in place; arrays are in C order and have the nest's shapes and dtype."""
        self.native.run(self._pointers(arrays))

    def seconds(self, arrays: Mapping[str, Array], samples: int = SAMPLES) -> float:
        """Return the least CPU time of a call; with several threads, the least elapsed time."""
        passing = self.threads > 1
        return min(self.native.time(self._pointers(arrays), samples, BATCH_SECONDS, passing))

    def _pointers(self, arrays: Mapping[str, Array]) -> list[int]:
        names = (*self.nest.inputs, *self.nest.outputs)
        threads = [_native.parallel_function(), self.threads]
        return [*(arrays[name].ctypes.data for name in names), self._scratch.ctypes.data, *threads]


class Bench:
    """Random inputs for a nest, and the expected results."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest

    @cached_property
    def slices(self) -> Slices | None:
        """The slices to compare; None to compare all elements."""
        return slices_of(self.nest)

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The arrays by name: random inputs, and zeros for the other tensors."""
        nest = self.nest
        rng = np.random.default_rng(zlib.crc32(str(nest).encode()))
        dtype = DTYPES[nest.dtype]
        shapes = enumerate(nest.shapes.items(), 1)
        arrays = {name: aligned(shape, dtype, place) for place, (name, shape) in shapes}
        for name in nest.inputs:
            count = min(arrays[name].size, DIFFERENT)
            values = rng.uniform(0.5, 1.5, count) * rng.choice([-1, 1], count)
            arrays[name][...] = np.resize(values.astype(dtype), nest.shapes[name])
        return arrays

    @cached_property
    def expected(self) -> dict[str, Array]:
        """The tensors that NumPy computes in double precision."""
        return evaluate(self.nest, {name: self.arrays[name].astype(np.float64) for name in self.nest.inputs})

    @cached_property
    def _expected_slices(self) -> dict[str, Array]:
        assert self.slices
        inputs = {name: self.slices.of(name, self.arrays[name]) for name in self.nest.inputs}
        return evaluate(self.slices.nest, inputs)

    def check(self, compiled: CompiledNest) -> None:
        """Run a kernel and compare its results with NumPy's: all elements, or `slices` of a large nest.

        Raises:
            Miscompiled: the results differ.
        """
        for name in self.nest.outputs:
            self.arrays[name].fill(np.nan)
        compiled.run(self.arrays)
        for name in self.nest.outputs:
            if self.slices is None:
                self._compare(name, self.arrays[name], self.expected[name])
                continue
            found = self.slices.parts(name, self.slices.of(name, self.arrays[name]))
            for part, expected in self.slices.parts(name, self._expected_slices[name]).items():
                self._compare(name, found[part], expected, f" among {part}")

    def _compare(self, name: str, found: Array, expected: Array, among: str = "") -> None:
        """Compare elements of an output.

        Raises:
            Miscompiled: an element differs.
        """
        scale = 1 + np.abs(expected, where=np.isfinite(expected), out=np.zeros_like(expected)).max()
        wrong = ~np.isclose(found, expected, rtol=0, atol=TOLERANCES[self.nest.dtype] * scale, equal_nan=True)
        if wrong.any():
            where = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise Miscompiled(
                f"{name}{list(where)}{among} is {found[where]}, not {expected[where]}; "
                f"{wrong.sum()} of {wrong.size} elements differ"
            )
