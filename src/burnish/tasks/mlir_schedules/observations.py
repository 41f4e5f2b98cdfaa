"""Observations of a program: its ops as rows, as a graph, and as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from burnish.core.objective import GraphArrays, Observation
from burnish.core.program import Program
from burnish.core.trace import split_entry
from burnish.core.view import Observed
from burnish.tasks.mlir_schedules.actions import ACTIONS, INDEX, MOST_DIMENSIONS
from burnish.tasks.mlir_schedules.legality import MOST_LOOPS
from burnish.tasks.mlir_schedules.ops import Matrix, Op
from burnish.tasks.mlir_schedules.outputs import function_name, schedule_text, write_header
from burnish.tasks.mlir_schedules.payload import Payload
from burnish.tasks.mlir_schedules.reference.inputs import bounds_of
from burnish.tasks.mlir_schedules.sites import Site, Sites, TilingLoop

OPERANDS = 4  # in a row: the accesses of the first ones
TENSOR_DIMENSIONS = 4  # in a row: the last ones of each operand
KEPT = 1024  # rows in the cache
BITS = 32.0  # divisor of logarithms
KINDS = (
    *("fill", "generic", "matmul", "batch_matmul", "conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw"),
    *("depthwise_conv_2d_nhwc_hwc", "pooling_nhwc_max", "pooling_nhwc_sum"),
    *("softmax", "add", "transpose", "reduce", "other"),
)
COMPUTED = ("addf", "subf", "mulf", "divf", "maximumf", "cmpf", "exp", "tanh", "erf", "sqrt", "other")
STAGES = ("op", "vectors", "hoisted")

DIMENSION_COLUMNS = tuple(
    f"{what} of iterator {i}" for i in range(MOST_DIMENSIONS) for what in ("extent", "is reduced", "tiles")
)
LOOP_COLUMNS = tuple(
    f"{what} of loop {i}"
    for i in range(MOST_LOOPS)
    for what in ("iterator", "step", "trips", "is reduced", "is shared")
)
ACCESS_COLUMNS = tuple(
    f"operand {operand}, dimension {d}, {what}"
    for operand in range(OPERANDS)
    for d in range(TENSOR_DIMENSIONS)
    for what in ("extent", *(f"iterator {i}" for i in range(MOST_DIMENSIONS)))
)
COLUMNS = (
    *("is there", "is at the cursor"),
    *(*KINDS, *STAGES),
    *("points", "reads", "readers", "loops", "bodies", "packed 0", "packed 1"),
    *(*COMPUTED, *DIMENSION_COLUMNS, *LOOP_COLUMNS, *ACCESS_COLUMNS),
)
AT_CURSOR, READERS = COLUMNS.index("is at the cursor"), COLUMNS.index("readers")


@lru_cache(KEPT)
def op_row(site: Site) -> NDArray[np.float32]:
    """Return float32[F]: the row of an op without the cursor and its readers, which depend on other ops."""
    op = site.op
    kind = op.kind if op.kind in KINDS else "other"
    found = [1.0, 0.0]
    found += [float(kind == one) for one in KINDS] + [float(site.stage == one) for one in STAGES]
    found += [_log(op.points), len(op.reads) / 8, 0.0]
    found += [len(site.loops) / MOST_LOOPS, _log(site.unrolled), *(float(i in site.packed) for i in range(2))]
    found += _computed(op) + _dimensions(site) + _loops(site.loops)
    return np.concatenate([np.array(found, dtype=np.float32), _accesses(op.accesses, op.shapes)])


def _computed(op: Op) -> list[float]:
    counts = dict.fromkeys(COMPUTED, 0)
    for name, count in op.computes.items():
        short = name.partition(".")[2]
        counts[short if short in counts else "other"] += count
    return [count / 8 for count in counts.values()]


def _dimensions(site: Site) -> list[float]:
    tiles = [0] * MOST_DIMENSIONS
    for loop in site.own_loops:
        if loop.dimension < MOST_DIMENSIONS:
            tiles[loop.dimension] += 1
    found = []
    for i in range(MOST_DIMENSIONS):
        there = i < len(site.op.extents)
        found += [_log(site.op.extents[i]) if there else 0.0]
        found += [float(there and site.op.reduces[i]), tiles[i] / 4]
    return found


def _loops(loops: tuple[TilingLoop, ...]) -> list[float]:
    found = [0.0] * len(LOOP_COLUMNS)
    for number, loop in enumerate(reversed(loops[-MOST_LOOPS:])):
        found[5 * number : 5 * number + 5] = [
            (1 + loop.dimension) / MOST_DIMENSIONS,
            _log(loop.step),
            _log(loop.trips),
            float(loop.reduces),
            float(loop.shared),
        ]
    return found


@lru_cache(KEPT)
def _accesses(accesses: tuple[Matrix, ...], shapes: tuple[tuple[int, ...], ...]) -> NDArray[np.float32]:
    found = np.zeros((OPERANDS, TENSOR_DIMENSIONS, 1 + MOST_DIMENSIONS), dtype=np.float32)
    for operand, (access, shape) in enumerate(zip(accesses[:OPERANDS], shapes[:OPERANDS], strict=True)):
        pairs = list(zip(access, shape, strict=True))[-TENSOR_DIMENSIONS:]
        for place, (factors, extent) in enumerate(pairs, TENSOR_DIMENSIONS - len(pairs)):
            found[operand, place, 0] = _log(extent)
            known = factors[:-1][:MOST_DIMENSIONS]
            found[operand, place, 1 : 1 + len(known)] = known
    return found.ravel()


def _log(value: float) -> float:
    return math.log2(value) / BITS if value > 0 else 0.0


NEIGHBOURS = 4  # at most, among the ops that an op reads
HISTORY = 48  # the last actions at an op that are counted
NODE_COLUMNS = (
    *("kind", "stage", "cursor", "points", "loops"),
    *(f"extent {i}" for i in range(MOST_DIMENSIONS)),
)

_rows = partial(Observation, dtype="float32", low=-1, columns=COLUMNS)
OBSERVATIONS: dict[str, Observation] = {
    item.name: item
    for item in (
        _rows(
            "op",
            "The op at the cursor; sizes are log2 / 32, and the innermost loop comes first",
            shape=(len(COLUMNS),),
        ),
        _rows(
            "neighbours",
            "The first reader of the op at the cursor, this op, and four ops that it reads, as rows of `op`",
            shape=(2 + NEIGHBOURS, len(COLUMNS)),
        ),
        _rows(
            "ops",
            "All ops in the program's order, as rows of `op`",
            kind="sequence",
            shape=(len(COLUMNS),),
        ),
        Observation(
            "graph",
            "A node for each op; an edge leads from each op to its reader, and its position is the operand",
            kind="graph",
            shape=(len(NODE_COLUMNS),),
            columns=NODE_COLUMNS,
            flows=("reads",),
        ),
        Observation(
            "history",
            "How often each action was applied at the cursor's op, and how recently",
            shape=(2, len(ACTIONS)),
            dtype="float32",
            columns=("times", "recency"),
        ),
        Observation("runtime", "Seconds of a call", shape=(1,), dtype="float64", noisy=True),
        Observation("program", "The program as it was opened", kind="text"),
        Observation("module", "The module after the actions so far", kind="text"),
        Observation("schedule", "The schedule so far, in the transform dialect", kind="text"),
        Observation("c_header", "The C header for calling the object file", kind="text"),
    )
}


class ScheduleState(Protocol):
    """The parts of a session that observations read."""

    trace: list[str]
    program: Program
    payload: Payload
    ops: Sites
    cursor: str  # the name of an op
    script: list[str]  # the transforms of each step

    @property
    def opened(self) -> Payload:
        """See ScheduleSession."""

    def measure(self, objective: str) -> float:
        """See Session."""


def observe(session: ScheduleState, space: str) -> Observed:
    """Return an observation by its name in OBSERVATIONS."""
    return _OBSERVE[space](session)


def op(session: ScheduleState) -> NDArray[np.float32]:
    """Return float32[F]: the op at the cursor; zeros once the cursor has passed the first op."""
    site = session.ops.by_name.get(session.cursor)
    return row(session, site) if site else np.zeros(len(COLUMNS), dtype=np.float32)


def neighbours(session: ScheduleState) -> NDArray[np.float32]:
    """Return float32[2 + NEIGHBOURS, F]: a reader of the op at the cursor, that op, and ops that it reads."""
    rows = np.zeros((2 + NEIGHBOURS, len(COLUMNS)), dtype=np.float32)
    known = session.ops.by_name
    if site := known.get(session.cursor):
        readers = session.ops.readers(site.name)
        made = [known[name] for name in dict.fromkeys(site.op.reads) if name in known]
        for number, one in enumerate([readers[0] if readers else None, site, *made[:NEIGHBOURS]]):
            if one:
                rows[number] = row(session, one)
    return rows


def ops(session: ScheduleState) -> NDArray[np.float32]:
    """Return float32[N, F]: all ops in the program's order."""
    found = [row(session, site) for site in session.ops.by_name.values()]
    return np.array(found, dtype=np.float32).reshape(len(found), len(COLUMNS))


def row(session: ScheduleState, site: Site) -> NDArray[np.float32]:
    """Return float32[F]: an op, with its loops, the cursor and the number of readers."""
    found = op_row(site).copy()
    found[AT_CURSOR] = site.name == session.cursor
    found[READERS] = len(session.ops.readers(site.name)) / 8
    return found


def graph(session: ScheduleState) -> GraphArrays:
    """Return the ops as nodes, int64[N, C], and their reads as edges, int64[E, 4]."""
    sites = session.ops.by_name
    numbers = {name: number for number, name in enumerate(sites)}
    nodes = np.zeros((len(sites), len(NODE_COLUMNS)), dtype=np.int64)
    edges = []
    for number, site in enumerate(sites.values()):
        kind = site.op.kind if site.op.kind in KINDS else "other"
        extents = site.op.extents[:MOST_DIMENSIONS]
        nodes[number, :5] = [
            KINDS.index(kind),
            STAGES.index(site.stage),
            int(site.name == session.cursor),
            min(site.op.points, np.iinfo(np.int64).max),
            len(site.loops),
        ]
        nodes[number, 5 : 5 + len(extents)] = extents
        for place, name in enumerate(site.op.reads):
            if name in numbers:
                edges.append((numbers[name], number, 0, place))
    return GraphArrays(nodes, np.array(edges, dtype=np.int64).reshape(len(edges), 4))


def history(session: ScheduleState) -> NDArray[np.float32]:
    """Return float32[2, n]: for each action, its count at the cursor's op / 4, and its last place in 0..1."""
    found = np.zeros((2, len(ACTIONS)), dtype=np.float32)
    there = [text for site, text in map(split_entry, session.trace) if site in ("", session.cursor)][
        -HISTORY:
    ]
    for number, text in enumerate(there, 1):
        found[0, INDEX[text]] += 1 / 4
        found[1, INDEX[text]] = number / len(there)
    return found


_OBSERVE: Mapping[str, Callable[[ScheduleState], Observed]] = {
    "op": op,
    "neighbours": neighbours,
    "ops": ops,
    "graph": graph,
    "history": history,
    "runtime": lambda session: np.array([session.measure("seconds")]),
    "program": lambda session: session.program.content.decode(),
    "module": lambda session: str(session.payload.module),
    "schedule": lambda session: schedule_text(session.opened, session.payload, session.script),
    "c_header": lambda session: write_header(
        session.payload,
        function_name(session.program.name),
        bounds_of(session.program.content.decode()),
    ),
}
