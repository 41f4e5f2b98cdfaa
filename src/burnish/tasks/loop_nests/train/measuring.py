"""Measured schedules of nests as training data: sketches and variations of the fastest, as lines of JSON."""

from __future__ import annotations

import zlib
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from burnish.core.errors import CompilerCrash, InputError
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.proposals import propose_sketches
from burnish.tasks.loop_nests.sketches import Level, Sketch, trace_of
from burnish.tasks.loop_nests.variation import vary
from burnish.tasks.tensors.machine import Machine, host, machine_of
from burnish.tasks.tensors.policy.cost_model import CostModel
from burnish.tasks.tensors.train.measuring import Key

NARROW = "haswell"  # a CPU with AVX2; CPUs with AVX-512 run its code
DRAWN = 0.4  # share of schedules that are drawn; the others are variations of the fastest
TRIES = 20  # sketches for each schedule, at most: some are illegal
SLOW = 1e8  # operations; for larger nests, sketches without vectors take too long and are left out
GUIDED = 1 / 3  # share of schedules that a model proposes, if there is one
ROUNDS = 3  # of measuring each schedule
FAVOURED = 0.4  # share of the measured schedules, the fastest ones, that are varied


@dataclass(frozen=True)
class Measurement:
    """A schedule of a nest, and the seconds of a call."""

    nest: str  # as text
    vector_bytes: int
    loops: tuple[tuple[Level, ...], ...]  # of the sketch
    shared: tuple[int, ...]
    seconds: float
    machine: str = ""  # the CPU that it was measured on, by LLVM's name; "" if unknown

    @property
    def sketch(self) -> Sketch:
        """The sketch of the schedule."""
        return Sketch(self.loops, self.shared)

    @property
    def key(self) -> Key:
        """The program and the size of vectors."""
        return self.nest, self.vector_bytes


def measure(
    text: str, vector_bytes: int, count: int, seed: int, guide: CostModel | None = None
) -> list[Measurement]:
    """Measure schedules of a nest: a model's proposals, random sketches, then also variations of the fastest.

    A schedule is left out if its results differ from NumPy's, or if LLVM rejects it.

    Args:
        text: The nest.
        vector_bytes: The size of vectors in the code: that of this machine, or 32 if this machine has 64.
        count: The number of schedules.
        seed: The seed of all choices.
        guide: The model that proposes the share GUIDED of the schedules.
    """
    nest = parse(text)
    rng = np.random.default_rng([seed, zlib.crc32(text.encode())])
    schedules = _Schedules(nest, vector_bytes)
    if guide:
        proposals = propose_sketches(nest, guide, vector_bytes)
        cost: float | None = None
        for _ in range(int(GUIDED * count)):
            cost = schedules.take(proposals.send(cost)[0])
    found = schedules.found
    for _ in range(TRIES * count):
        if len(schedules.seen) >= count:
            break
        schedules.take(_next(nest, found, vector_bytes, rng, random=len(found) < count * DRAWN / 2))
    return schedules.again()


class _Schedules:
    """Measured schedules of a nest, fastest first."""

    def __init__(self, nest: Nest, vector_bytes: int) -> None:
        self.nest, self.vector_bytes = nest, vector_bytes
        self.bench, self.machine = Bench(nest), machine_with(vector_bytes)
        self.found: list[Measurement] = []
        self.kernels: dict[Sketch, CompiledNest] = {}
        self.seen: set[str] = set()

    def take(self, sketch: Sketch) -> float | None:
        """Measure a sketch's schedule; return None if it is illegal, wrong, too slow, or measured before."""
        made = trace_of(self.nest, sketch)
        slow = self.nest.flops > SLOW and not _has_vectors(sketch)
        if not made or slow or str(made[1]) in self.seen:
            return None
        self.seen.add(str(made[1]))
        try:
            compiled = CompiledNest(made[1], self.machine)
            self.bench.check(compiled)
        except CompilerCrash:
            return None
        self.kernels[sketch] = compiled
        seconds = compiled.seconds(self.bench.arrays)
        one = Measurement(str(self.nest), self.vector_bytes, *sketch, seconds, host().cpu)
        insort(self.found, one, key=lambda measured: measured.seconds)
        return one.seconds

    def again(self) -> list[Measurement]:
        """Measure all schedules again in turns; keep the least times, as a shared machine has slow phases."""
        rounds = [
            [self.kernels[one.sketch].seconds(self.bench.arrays) for one in self.found]
            for _ in range(ROUNDS - 1)
        ]
        found = [
            replace(one, seconds=min(one.seconds, *more))
            for one, *more in zip(self.found, *rounds, strict=True)
        ]
        return sorted(found, key=lambda one: one.seconds)


def machine_with(vector_bytes: int) -> Machine:
    """Return this machine, or one with narrower vectors whose code this machine runs.

    Raises:
        InputError: this machine does not run code with vectors of this size.
    """
    for machine in (host(), machine_of(NARROW)):
        if machine.vector_bytes == vector_bytes and host().runs(machine):
            return machine
    raise InputError(f"this machine does not run code with vectors of {vector_bytes} bytes")


def _next(nest: Nest, found: Sequence[Measurement], vector_bytes: int, rng: Any, *, random: bool) -> Sketch:
    if random or rng.random() < DRAWN:
        return draw(nest, vector_bytes, rng)
    place = int(FAVOURED * len(found) * rng.random() ** 2)
    return vary(nest, found[place].sketch, vector_bytes, rng)


def _has_vectors(sketch: Sketch) -> bool:
    return all(any(one.kind == "vectorize" for one in loops) for loops in sketch.loops)
