"""The machine's peak rate: a loop of fused multiply-adds with enough accumulators to hide their latency."""

from __future__ import annotations

from functools import cache

import numpy as np

from burnish import _native
from burnish.tasks.loop_nests.kernel import SAMPLES
from burnish.tasks.loop_nests.nest import DTYPES, DType
from burnish.tasks.tensors.arrays import aligned
from burnish.tasks.tensors.machine import Machine, host

ACCUMULATORS = 12  # 2 units with a latency of 4 cycles need at least 8; 12 and two operands fit 16 registers
ITERATIONS = 20_000
GIGA = 1e9


class PeakProbe:
    """The loop, compiled for an element type; `flops`: operations per call."""

    def __init__(self, machine: Machine, dtype: DType = "f32", iterations: int = ITERATIONS) -> None:
        kind = np.dtype(DTYPES[dtype])
        self.lanes = machine.vector_bytes // kind.itemsize
        self.flops = 2 * iterations * ACCUMULATORS * self.lanes
        text = _text(self.lanes, "float" if dtype == "f32" else "double", iterations)
        self._kernel = _native.Kernel(text, "kernel", "", machine.native)
        self.factors = aligned((2 * self.lanes,), kind.type)  # the multiplier, then the addend
        self.sums = aligned((self.lanes,), kind.type)

    def run(self) -> float:
        """Return the sum of all accumulators, the nth of which begins with n in each lane."""
        self._kernel.run(self._pointers)
        return float(self.sums.sum())

    def seconds(self) -> float:
        """Return the CPU time of a call, in one batch."""
        return self._kernel.time(self._pointers, 1, 2e-3)[0]

    @property
    def _pointers(self) -> list[int]:
        return [self.factors.ctypes.data, self.sums.ctypes.data]


@cache
def peak_flops(dtype: DType) -> float:
    """Return the peak of one core of this machine, in operations per second; measured once."""
    probe = PeakProbe(host(), dtype)
    return probe.flops / min(probe.seconds() for _ in range(SAMPLES))


def _text(lanes: int, scalar: str, iterations: int) -> str:
    vector = f"<{lanes} x {scalar}>"
    fma = f"@llvm.fma.v{lanes}{'f32' if scalar == 'float' else 'f64'}"
    numbers = range(ACCUMULATORS)
    lines = [
        f"declare {vector} {fma}({vector}, {vector}, {vector})",
        "define void @kernel(ptr %pointers) {",
        "entry:",
        "  %factors = load ptr, ptr %pointers",
        "  %second = getelementptr ptr, ptr %pointers, i64 1",
        "  %sums = load ptr, ptr %second",
        f"  %x = load {vector}, ptr %factors, align 64",
        f"  %behind = getelementptr {vector}, ptr %factors, i64 1",
        f"  %y = load {vector}, ptr %behind, align 4",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *(f"  %a{n} = phi {vector} [ splat ({scalar} {n}.0), %entry ], [ %b{n}, %loop ]" for n in numbers),
        *(f"  %b{n} = call {vector} {fma}({vector} %a{n}, {vector} %x, {vector} %y)" for n in numbers),
        "  %next = add i64 %i, 1",
        f"  %more = icmp ult i64 %next, {iterations}",
        "  br i1 %more, label %loop, label %done",
        "done:",
        f"  %s0 = fadd {vector} %b0, zeroinitializer",
        *(f"  %s{n} = fadd {vector} %s{n - 1}, %b{n}" for n in numbers if n),
        f"  store {vector} %s{ACCUMULATORS - 1}, ptr %sums, align 64",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
