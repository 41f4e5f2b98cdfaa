"""Features that predict the time of a schedule: a row for each statement."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from burnish.tasks.loop_nests.boxes import LINE, AnyLoop, LoopBoxes, StatementFacts
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.sketches import Sketch
from burnish.tasks.loop_nests.streams import Stream, detour, stream_of
from burnish.tasks.loop_nests.tree import Path, Tree

CACHES = (32 << 10, 1 << 20, 24 << 20)  # bytes
REGISTERS = {64: 32, 32: 16, 16: 32}  # by the bytes of a vector: AVX-512, AVX2, NEON


COLUMNS = (
    "bytes of an element",
    "lanes",
    "iterations",
    "operations of one",
    "slow operations of one",
    "comparisons of one",
    "is a reduction",
    "is a sum of products",
    "reads",
    "reads of temporaries",
    "is temporary",
    "bytes of all",
    "loops",
    "shared loops",
    "has a vector",
    "vector is reduced",
    "vectors of a row",
    "lanes in use",
    "rows in use",
    *(f"reads {how}" for how in ("beside each other", "of one for all lanes", "two apart", "further apart")),
    "target is apart",
    "unaligned reads",
    "unaligned target",
    "values of the tile",
    "registers",
    "registers that are missing",
    "operations of the body",
    "vector loads of an operation",
    "other loads of an operation",
    "iterations in registers",
    "iterations of the innermost loop",
    "unrolled reduction",
    "target is read again",
    "stores of an iteration",
    "lanes that are added up at the end",
    "iterations of loops of an operation",
    "size of the code",
    "bytes of the tile's loops",
    *(f"bytes into cache {level} of an operation" for level in (1, 2, 3)),
    *(f"bytes into cache {level}" for level in (1, 2, 3)),
    "copied elements of an operation",
    "copies",
    "copies with steps",
    *(f"step of the {which} reduction in bytes" for which in ("innermost", "next")),
    "pages of the tile's loops",
    *(f"different {kind} loads of an operation" for kind in ("vector", "other")),
    "lines of a set of cache 1",
    "detour through memory",
)


class Featurizer:
    """Computes the features of schedules of one nest."""

    def __init__(self, nest: Nest, vector_bytes: int) -> None:
        self.nest = nest
        self.facts = [StatementFacts(nest, number, vector_bytes) for number in range(len(nest.statements))]
        self.streams = [stream_of(facts) for facts in self.facts]

    def of_sketch(self, sketch: Sketch) -> NDArray[np.float32]:
        """Return float32[statements, COLUMNS] for a sketch; many sizes and ratios are log2."""
        shared = (*sketch.shared, 0)  # nothing comes after the last statement
        return self.rows(
            (number, loops, max(shared[number : number + 2])) for number, loops in enumerate(sketch.loops)
        )

    def rows(self, chains: Iterable[tuple[int, Sequence[AnyLoop], int]]) -> NDArray[np.float32]:
        """Return the features of statements with the loops around them, and how many of these are shared."""
        rows = [
            _FeatureRow(self.facts[number], loops, shared).row(self.streams[number])
            for number, loops, shared in chains
        ]
        return np.array(rows, dtype=np.float32)


def features_of_tree(tree: Tree, vector_bytes: int) -> NDArray[np.float32]:
    """Return float32[statements, COLUMNS] for a tree, in the order of its statements' execution."""
    leaves = [path for path in tree.bodies if path not in tree.by_path]
    shared = [0, *itertools.starmap(_loops_around_both, itertools.pairwise(leaves)), 0]
    return Featurizer(tree.nest, vector_bytes).rows(
        (tree.leaves(path)[0], tree.above(path), max(shared[i : i + 2])) for i, path in enumerate(leaves)
    )


def _loops_around_both(one: Path, other: Path) -> int:
    """Return the number of loops around two different statements."""
    return next(i for i, steps in enumerate(zip(one, other, strict=False)) if steps[0] != steps[1])


class _FeatureRow(LoopBoxes):
    """The features of one statement in its loops."""

    def row(self, stream: Stream | None) -> list[float]:
        """Return a number for each of COLUMNS."""
        facts, statement, lanes = self.facts, self.statement, self.lanes
        outer, inner = self.tile_loops()
        box = self.boxes[self.tile + len(outer)]  # of one body
        vector = next((loop.iterator for loop in inner if loop.kind == "vectorize"), "")
        reduces = vector in statement.reduced
        iterations = math.prod(self.boxes[0].values())
        wide = box[vector] if vector else 1
        rows = -(-wide // lanes)
        parts = math.prod(box[name] for name in statement.free if name != vector) * (1 if reduces else rows)
        unrolled = math.prod(box[name] for name in statement.reduced if name != vector)
        unrolled *= rows if reduces else 1
        in_registers = math.prod(self.counts[self.tile : self.tile + len(outer)])
        body = parts * unrolled
        per_row = [moved.get(vector, 0) if vector else 0 for moved in self.strides]
        vectors, scalars = self._loads(box, vector, rows, different=False)
        different = self._loads(box, vector, rows, different=True)
        needed = parts + min(vectors, 2 * rows + 2) + (unrolled > 1)
        registers = REGISTERS.get(self.vector_bytes, 32)
        memory = bool(statement.reduce) and any(
            loop.iterator in statement.reduced for loop in self.loops[: self.tile]
        )
        work = iterations * facts.operations
        executed = sum(math.prod(self.counts[: i + 1]) for i in range(self.tile + len(outer)))
        tails = sum(
            bool(self.boxes[i][loop.iterator] % loop.step) and self.boxes[i][loop.iterator] > loop.step
            for i, loop in enumerate(self.loops)
        )
        traffic = [self.traffic(size) for size in CACHES]
        copied, copies, stepped = self.copies()
        steps = self._steps(outer)
        reads = list(zip(per_row[1:], self.accesses[1:], strict=True))
        return [
            self.size / 8,
            _log(lanes),
            _log(iterations),
            _log(facts.operations),
            float(facts.slow),
            float(facts.comparisons),
            float(bool(statement.reduce)),
            float(facts.products),
            len(reads),
            sum(read.tensor in facts.temporaries for _, read in reads),
            float(statement.target.tensor in facts.temporaries),
            _log(sum(self.bytes[0])),
            len(self.loops),
            self.shared,
            float(bool(vector)),
            float(reduces),
            rows,
            wide / (rows * lanes) if vector else 0.0,
            self._in_use(box),
            sum(step == 1 for step, _ in reads),
            sum(step == 0 for step, _ in reads),
            sum(step == 2 for step, _ in reads),
            sum(step > 2 or step < 0 for step, _ in reads),
            float(bool(vector) and not reduces and per_row[0] != 1),
            sum(self._unaligned(i, vector) for i in range(1, len(self.accesses))),
            float(self._unaligned(0, vector)),
            _log(parts),
            needed / registers,
            max(0.0, needed - registers) / registers,
            _log(body),
            vectors / body,
            scalars / body,
            _log(in_registers),
            _log(self.counts[self.tile + len(outer) - 1] if outer else 1),
            _log(unrolled),
            float(memory),
            _log(parts / (in_registers * unrolled * parts)),
            _log(parts / (in_registers * body)) if reduces else -20.0,
            _log(executed / work),
            _log(body * facts.operations * 2.0**tails),
            _log(sum(self.bytes[self.tile])),
            *(_log(bytes_ / work) for bytes_ in traffic),
            *(_log(bytes_) for bytes_ in traffic),
            _log(copied / work) if copied else -20.0,
            copies,
            stepped,
            *steps,
            _log(self.pages()),
            *(count / body for count in different),
            _log(self.lines_of_set()),
            detour(stream, self),
        ]

    def _loads(self, box: Mapping[str, int], vector: str, rows: int, *, different: bool) -> tuple[int, int]:
        """Return the numbers of vector loads and of scalar loads in a body.

        With `different`, equal loads count once: `a[y+i]` is the same for equal y + i.
        """
        vectors = scalars = 0
        reads = zip(self.accesses[1:], self.facts.reaches[1:], self.strides[1:], strict=True)
        for access, reach, moved in reads:
            step = moved.get(vector, 0) if vector else 0
            if different:
                step, others = abs(step), 1
                for _, terms in reach.dimensions:
                    values = [(box[name], by) for name, by in terms if name != vector]
                    count = math.prod(count for count, _ in values)
                    others *= min(count, 1 + sum(by * (count - 1) for count, by in values))
            else:
                others = math.prod(box[name] for name in access.iterators if name != vector)
            if not step:
                scalars += others
            elif step in (1, 2) or access.tensor in self.packed:
                vectors += others * rows * abs(step)
            else:
                scalars += others * rows * self.lanes
        return vectors, scalars

    def _in_use(self, box: Mapping[str, int]) -> float:
        """Return the statement's iterations over those of its tiles, if all tiles were whole."""
        share = 1.0
        for name, extent in self.boxes[0].items():
            step = box[name]
            share *= extent / (-(-extent // step) * step)
        return share

    def _unaligned(self, number: int, vector: str) -> bool:
        """Return whether some vectors of an access begin in the middle of a cache line."""
        moved = self.strides[number]
        if not vector or moved.get(vector, 0) != 1:
            return False
        access = self.accesses[number]
        if access.tensor in self.packed:
            return False
        per_line = LINE // self.size
        return any(
            step % per_line for name, step in moved.items() if name != vector and self.boxes[0][name] > 1
        ) or bool(self.facts.offsets[number] % per_line)

    def _steps(self, outer: Sequence[AnyLoop]) -> tuple[float, float]:
        """Return log2 of the largest stride of a read, in bytes, in the two innermost reduction loops."""
        found = []
        for loop in (outer[-1] if outer else None, outer[-2] if len(outer) > 1 else None):
            step = 0
            if loop:
                for access, moved in zip(self.accesses[1:], self.strides[1:], strict=True):
                    if access.tensor not in self.packed:
                        step = max(step, abs(moved.get(loop.iterator, 0)) * loop.step * self.size)
            found.append(_log(step) if step else 0.0)
        return found[0], found[1]


def _log(number: float) -> float:
    return math.log2(max(number, 1e-6))
