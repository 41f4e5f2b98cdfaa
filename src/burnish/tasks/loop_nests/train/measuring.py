"""Measured schedules of nests, to learn from: sketches, and variations of the fastest, as lines of JSON."""

from __future__ import annotations

import json
import lzma
import zlib
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from burnish.core.errors import CompilerCrash, InputError
from burnish.files import parse_json_lines, read_json_lines
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest, Machine, host, machine_of
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.cost_model import CostModel
from burnish.tasks.loop_nests.policy.proposals import propose_sketches
from burnish.tasks.loop_nests.sketches import Level, Sketch, trace_of
from burnish.tasks.loop_nests.variation import vary

T = TypeVar("T")

NARROW = "haswell"  # a CPU with AVX2, whose code runs where there is AVX-512
DRAWN = 0.4  # of the schedules; the others are variations of the fastest
TRIES = 20  # sketches for each schedule: some are illegal
SLOW = 1e8  # operations, from which on sketches without vectors are left out: they take too long
GUIDED = 1 / 3  # of the schedules are a model's proposals, where there is one
ROUNDS = 3  # of measuring
FAVOURED = 0.4  # the share of the measured schedules that others are variations of


@dataclass(frozen=True)
class Measurement:
    """A schedule of a nest, and what a call takes."""

    nest: str  # as text
    vector_bytes: int
    sketch: Sketch
    seconds: float

    def to_json(self) -> str:
        """Return a line."""
        row = {
            "nest": self.nest,
            "vector_bytes": self.vector_bytes,
            "loops": self.sketch.loops,
            "shared": self.sketch.shared,
            "seconds": self.seconds,
        }
        return json.dumps(row)

    @classmethod
    def from_json(cls, text: str) -> Measurement:
        """Read a line.

        Raises:
            InputError: it is none.
        """
        try:
            row = json.loads(text)
            loops = tuple(
                tuple(Level(name, step, kind, tuple(packs)) for name, step, kind, packs in each)
                for each in row["loops"]
            )
            sketch = Sketch(loops, tuple(row["shared"]))
            return cls(row["nest"], row["vector_bytes"], sketch, float(row["seconds"]))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"not a measured schedule: {error}: {text[:60]}") from None


def measure(
    text: str, vector_bytes: int, count: int, seed: int, guide: CostModel | None = None
) -> list[Measurement]:
    """Measure schedules of a nest: what a model proposes, sketches, then also variations of the fastest.

    A schedule that computes something else than NumPy, or that LLVM rejects, is left out.

    Args:
        text: The nest.
        vector_bytes: Of the vectors of the code: those of this machine, or 32 where it has 64.
        count: How many schedules.
        seed: Of the choices.
        guide: What proposes GUIDED of them.
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
    """Schedules of a nest that were measured, the fastest first."""

    def __init__(self, nest: Nest, vector_bytes: int) -> None:
        self.nest, self.vector_bytes = nest, vector_bytes
        self.bench, self.machine = Bench(nest), machine_with(vector_bytes)
        self.found: list[Measurement] = []
        self.kernels: dict[Sketch, CompiledNest] = {}
        self.seen: set[str] = set()

    def take(self, sketch: Sketch) -> float | None:
        """Measure a sketch's schedule; None where it is none, was measured before, or takes too long."""
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
        one = Measurement(str(self.nest), self.vector_bytes, sketch, compiled.seconds(self.bench.arrays))
        insort(self.found, one, key=lambda measured: measured.seconds)
        return one.seconds

    def again(self) -> list[Measurement]:
        """Measure all of them again, in turns; the least counts: a shared machine is slow for a while."""
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
    """Return this machine, or one with narrower vectors whose code it runs.

    Raises:
        InputError: it cannot run code with such vectors.
    """
    for machine in (host(), machine_of(NARROW)):
        if machine.vector_bytes == vector_bytes and host().runs(machine):
            return machine
    raise InputError(f"this machine does not run code with vectors of {vector_bytes} bytes")


def read_measurements(path: Path) -> list[Measurement]:
    """Return the measured schedules of nests in a file; see `read_rows`.

    Raises:
        InputError: a line is something else.
    """
    return read_rows(path, Measurement.from_json)


def read_rows(path: Path, parse: Callable[[str], T]) -> list[T]:
    """Return what a LineFile has, but for a line that was cut off, or a copy of one that xz compressed.

    Args:
        path: The file.
        parse: Makes a row of a line.

    Raises:
        InputError: a line is something else.
    """
    if path.suffix != ".xz":
        return read_json_lines(path, parse, appended=True)
    try:
        text = lzma.decompress(path.read_bytes()).decode()
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected measured schedules, compressed by xz: {error}") from None
    return parse_json_lines(text, parse, str(path))


def _next(nest: Nest, found: Sequence[Measurement], vector_bytes: int, rng: Any, *, random: bool) -> Sketch:
    if random or rng.random() < DRAWN:
        return draw(nest, vector_bytes, rng)
    place = int(FAVOURED * len(found) * rng.random() ** 2)
    return vary(nest, found[place].sketch, vector_bytes, rng)


def _has_vectors(sketch: Sketch) -> bool:
    return all(any(one.kind == "vectorize" for one in loops) for loops in sketch.loops)
