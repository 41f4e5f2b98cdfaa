"""Measured schedules of nests, to learn from: sketches, and variations of the fastest, as lines of JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnish.core.errors import CompilerCrash, InputError
from burnish.core.trace import Trace
from burnish.files import read_json_lines
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest, Machine, host, machine_of
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.sketches import Level, Sketch, trace_of
from burnish.tasks.loop_nests.variation import vary

NARROW = "haswell"  # a CPU with AVX2, whose code runs where there is AVX-512
DRAWN = 0.4  # of the schedules; the others are variations of the fastest
TRIES = 20  # sketches for each schedule: some are illegal
SLOW = 1e8  # operations, from which on sketches without vectors are left out: they take too long
FAVOURED = 0.4  # the share of the measured schedules that others are variations of


@dataclass(frozen=True)
class Measurement:
    """A schedule of a nest, and what a call takes."""

    nest: str  # as text
    vector_bytes: int
    sketch: Sketch
    trace: Trace
    seconds: float

    def to_json(self) -> str:
        """Return a line."""
        loops = [
            [[one.iterator, one.step, one.kind, one.packs] for one in each] for each in self.sketch.loops
        ]
        row = {
            "nest": self.nest,
            "vector_bytes": self.vector_bytes,
            "loops": loops,
            "shared": self.sketch.shared,
            "trace": self.trace,
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
            return cls(row["nest"], row["vector_bytes"], sketch, tuple(row["trace"]), float(row["seconds"]))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"not a measured schedule: {error}: {text[:60]}") from None


def measure(text: str, vector_bytes: int, count: int, seed: int) -> list[Measurement]:
    """Measure schedules of a nest: sketches at first, then also variations of the fastest.

    A schedule that computes something else than NumPy, or that LLVM rejects, is left out.

    Args:
        text: The nest.
        vector_bytes: Of the vectors of the code: those of this machine, or 32 where it has 64.
        count: How many schedules.
        seed: Of the choices.
    """
    nest, machine = parse(text), machine_with(vector_bytes)
    rng = np.random.default_rng([seed, zlib.crc32(text.encode())])
    bench = Bench(nest)
    found: list[Measurement] = []
    seen: set[str] = set()
    for _ in range(TRIES * count):
        if len(seen) >= count:
            break
        sketch = _next(nest, found, vector_bytes, rng, random=len(found) < count * DRAWN / 2)
        made = trace_of(nest, sketch)
        if not made or str(made[1]) in seen or (nest.flops > SLOW and not _has_vectors(sketch)):
            continue
        trace, tree = made
        seen.add(str(tree))
        try:
            compiled = CompiledNest(tree, machine)
            bench.check(compiled)
        except CompilerCrash:
            continue
        found.append(Measurement(text, vector_bytes, sketch, trace, compiled.seconds(bench.arrays)))
        found.sort(key=lambda one: one.seconds)
    return found


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
    """Return what a LineFile has; a line that was cut off is left out.

    Raises:
        InputError: a line is something else.
    """
    return read_json_lines(path, Measurement.from_json, appended=True)


def _next(nest: Nest, found: Sequence[Measurement], vector_bytes: int, rng: Any, *, random: bool) -> Sketch:
    if random or rng.random() < DRAWN:
        return draw(nest, vector_bytes, rng)
    place = int(FAVOURED * len(found) * rng.random() ** 2)
    return vary(nest, found[place].sketch, vector_bytes, rng)


def _has_vectors(sketch: Sketch) -> bool:
    return all(any(one.kind == "vectorize" for one in loops) for loops in sketch.loops)
