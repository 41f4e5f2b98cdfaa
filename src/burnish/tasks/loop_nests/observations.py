"""Observations of a nest and its loop tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from burnish.core.objective import GraphArrays, Observation
from burnish.core.trace import split_entry
from burnish.core.view import Observed
from burnish.tasks.loop_nests.actions import ACTIONS, MOST_LOOPS, extents_at
from burnish.tasks.loop_nests.lowering.lower import lower
from burnish.tasks.loop_nests.nest import Access, Statement
from burnish.tasks.loop_nests.tree import Leaf, Loop, Node, Place, Tree
from burnish.tasks.tensors.machine import Machine

ROWS = 10  # loops in LoopTool's tensor
BINS = 16  # of strides in LoopTool's tensor; the stride tensor has twice as many
PREVIOUS = 5  # actions
KINDS = ("loop", "unroll", "vectorize", "parallel")
OPERANDS = 4  # accesses with columns in `loops`, the target first
BITS = 32.0  # divisor of logarithms

LOOPTOOL_COLUMNS = (
    "cursor",
    "size",
    "tail",
    "is reduced",
    *(f"strides in [2^{i}, 2^{i + 1})" for i in range(BINS)),
)
OPERAND_COLUMNS = ("is accessed", "stride", "values below", "is packed")
LOOP_COLUMNS = (
    "is there",
    "cursor",
    *KINDS,
    "is reduced",
    "iterations",
    "step",
    "share of the tail",
    "depth",
    "loops inside",
    "statements inside",
    "iterations inside",
    *(
        f"{column}: {'target' if i == 0 else f'operand {i - 1}'}"
        for i in range(OPERANDS)
        for column in OPERAND_COLUMNS
    ),
)
SCHEDULE_COLUMNS = ("cursor", "iterator", "step", "kind", "depth", "copies")
NODE_COLUMNS = ("is a loop", "iterations", "step", "tail", *KINDS)

OBSERVATIONS: dict[str, Observation] = {
    item.name: item
    for item in (
        Observation(
            "loops",
            "A row for each of the first 16 loops; sizes are log2 / 32",
            shape=(MOST_LOOPS, len(LOOP_COLUMNS)),
            dtype="float32",
            low=-1,
            columns=LOOP_COLUMNS,
        ),
        Observation(
            "schedule",
            "A row for each of the first 16 loops, without extents: the same for nests of all sizes",
            shape=(MOST_LOOPS, len(SCHEDULE_COLUMNS)),
            columns=SCHEDULE_COLUMNS,
        ),
        Observation(
            "loops_tensor",
            "LoopTool's: a row for each of the first 10 loops",
            shape=(ROWS, len(LOOPTOOL_COLUMNS)),
            columns=LOOPTOOL_COLUMNS,
        ),
        Observation(
            "stride_tensor",
            "Histogram of the elements by which a loop moves an access: bins of powers of two, the "
            "first one for 0",
            shape=(2 * BINS,),
        ),
        Observation(
            "5_prev_actions_tensor",
            "The last five actions, latest first: one-hot rows",
            shape=(PREVIOUS, len(ACTIONS)),
            high=1,
        ),
        Observation("runtime", "Seconds of a call", shape=(1,), dtype="float64", noisy=True),
        Observation(
            "flops",
            "Operations a second, and operations",
            shape=(2,),
            dtype="float64",
            columns=("a second", "of a call"),
            noisy=True,
        ),
        Observation("nest", "The nest in its language", kind="text"),
        Observation("loop_tree", "The loops as text", kind="text"),
        Observation("ir", "LLVM's IR before its passes", kind="text"),
        Observation("c_header", "The C header for calling the object file", kind="text"),
        Observation(
            "ir_tree_networkx",
            "Nodes for the nest, each loop and each statement; an edge leads from a node to each node inside",
            kind="graph",
            shape=(len(NODE_COLUMNS),),
            columns=NODE_COLUMNS,
        ),
        Observation(
            "ir_graph_networkx",
            "The same, followed by a node for each tensor; edges of reads (flow 1) and writes (flow 2)",
            kind="graph",
            shape=(len(NODE_COLUMNS),),
            columns=NODE_COLUMNS,
        ),
    )
}


class NestState(Protocol):
    """The parts of a session that observations read."""

    trace: list[str]
    tree: Tree
    cursor: int  # index of a loop

    @property
    def machine(self) -> Machine:
        """See NestSession."""

    def index(self, action: str) -> int:
        """See Session."""

    def seconds(self) -> float:
        """See NestSession."""

    def header(self) -> str:
        """See NestSession."""


def observe(session: NestState, space: str) -> Observed:
    """Return one of OBSERVATIONS."""
    return _OBSERVE[space](session)


def loops(session: NestState) -> NDArray[np.float32]:
    """Return float32[MOST_LOOPS, 30], by LOOP_COLUMNS: a row for each loop."""
    rows = np.zeros((MOST_LOOPS, len(LOOP_COLUMNS)), dtype=np.float32)
    for number, place in enumerate(list(session.tree.places.values())[:MOST_LOOPS]):
        rows[number] = _loop_row(session, number, place)
    return rows


def _loop_row(session: NestState, number: int, place: Place) -> list[float]:
    tree, loop = session.tree, place.loop
    leaves = tree.leaves(place.path)
    statement = tree.nest.statements[leaves[0]]
    inside = {**extents_at(tree, place), loop.iterator: min(loop.step, place.extent)}
    packed = {name for other in (*tree.above(place.path), loop) for name in other.packs}
    accesses = (statement.target, *statement.accesses)[:OPERANDS]
    row = [1.0, float(number == session.cursor), *(float(loop.kind == kind) for kind in KINDS)]
    row += [float(loop.iterator in statement.reduced), _log(place.count), _log(loop.step)]
    row += [place.tail / loop.step, len(place.path) / MOST_LOOPS, _count(loop) / MOST_LOOPS, len(leaves) / 4]
    row += [_log(math.prod(inside[name] for name in statement.iterators))]
    for access in accesses:
        stride = tree.nest.strides(access).get(loop.iterator, 0) * loop.step
        values = math.prod(inside[name] for name in access.iterators)
        row += [
            1.0,
            -1 / BITS if not stride else _log(abs(stride)),
            _log(values),
            float(access.tensor in packed),
        ]
    return row + [0.0] * (len(LOOP_COLUMNS) - len(row))


def schedule(session: NestState) -> NDArray[np.int64]:
    """Return int64[MOST_LOOPS, 6], by SCHEDULE_COLUMNS.

    Iterators are numbered from 1; a kind is its index in KINDS; `copies` has a bit for each tensor.
    """
    rows = np.zeros((MOST_LOOPS, len(SCHEDULE_COLUMNS)), dtype=np.int64)
    nest = session.tree.nest
    iterators, tensors = list(nest.extents), list(nest.shapes)
    for number, place in enumerate(list(session.tree.places.values())[:MOST_LOOPS]):
        loop = place.loop
        copies = sum(1 << tensors.index(name) for name in loop.packs)
        iterator, kind = 1 + iterators.index(loop.iterator), KINDS.index(loop.kind)
        rows[number] = number == session.cursor, iterator, loop.step, kind, len(place.path), copies
    return rows


def loops_tensor(session: NestState) -> NDArray[np.int64]:
    """Return int64[10, 20], by LOOPTOOL_COLUMNS."""
    rows = np.zeros((ROWS, len(LOOPTOOL_COLUMNS)), dtype=np.int64)
    for number, place in enumerate(list(session.tree.places.values())[:ROWS]):
        statements = [session.tree.nest.statements[leaf] for leaf in session.tree.leaves(place.path)]
        reduced = any(place.loop.iterator in one.reduced for one in statements)
        whole = place.extent // place.loop.step
        rows[number, :4] = number == session.cursor, whole, place.tail, reduced
        for stride in _strides(session, place, statements):
            if stride:
                rows[number, 4 + min(BINS - 1, stride.bit_length() - 1)] += 1
    return rows


def stride_tensor(session: NestState) -> NDArray[np.int64]:
    """Return int64[2 * BINS]: accesses by stride, in bins: 0, 1, 2 to 3, 4 to 7 elements, and so on."""
    bins = np.zeros(2 * BINS, dtype=np.int64)
    for place in session.tree.places.values():
        statements = [session.tree.nest.statements[leaf] for leaf in session.tree.leaves(place.path)]
        for stride in _strides(session, place, statements):
            bins[min(2 * BINS - 1, stride.bit_length())] += 1
    return bins


def previous_actions(session: NestState) -> NDArray[np.int64]:
    """Return int64[PREVIOUS, len(ACTIONS)]: a one-hot row for each of the last actions, latest first."""
    rows = np.zeros((PREVIOUS, len(ACTIONS)), dtype=np.int64)
    for row, text in zip(rows, reversed(session.trace), strict=False):
        row[session.index(split_entry(text)[1])] = 1
    return rows


def runtime(session: NestState) -> NDArray[np.float64]:
    """Return float64[1]: the seconds of a call."""
    return np.array([session.seconds()])


def flops(session: NestState) -> NDArray[np.float64]:
    """Return float64[2]: operations per second, and operations of a call."""
    count = session.tree.nest.flops
    return np.array([count / session.seconds(), count])


def tree_graph(session: NestState) -> GraphArrays:
    """Return a node for the nest, each loop and each statement, and edges from parents to children."""
    nodes, edges, _ = _tree_arrays(session)
    return GraphArrays(_array(nodes, len(NODE_COLUMNS)), _array(edges, 4))


def graph(session: NestState) -> GraphArrays:
    """Return the tree's graph, with nodes for the tensors and edges for reads and writes."""
    nodes, edges, leaves = _tree_arrays(session)
    tensors = {name: len(nodes) + i for i, name in enumerate(session.tree.nest.shapes)}
    nodes += [[0] * len(NODE_COLUMNS) for _ in tensors]
    for number, statement in enumerate(session.tree.nest.statements):
        for position, read in enumerate(statement.accesses):
            edges.append([tensors[read.tensor], leaves[number], 1, position])
        edges.append([leaves[number], tensors[statement.target.tensor], 2, 0])
    return GraphArrays(_array(nodes, len(NODE_COLUMNS)), _array(edges, 4))


_OBSERVE: Mapping[str, Callable[[NestState], Observed]] = {
    "loops": loops,
    "schedule": schedule,
    "loops_tensor": loops_tensor,
    "stride_tensor": stride_tensor,
    "5_prev_actions_tensor": previous_actions,
    "runtime": runtime,
    "flops": flops,
    "nest": lambda session: str(session.tree.nest),
    "loop_tree": lambda session: str(session.tree),
    "ir": lambda session: lower(session.tree, session.machine.vector_bytes).text,
    "c_header": lambda session: session.header(),
    "ir_tree_networkx": tree_graph,
    "ir_graph_networkx": graph,
}


def _tree_arrays(session: NestState) -> tuple[list[list[int]], list[list[int]], dict[int, int]]:
    nodes: list[list[int]] = [[0] * len(NODE_COLUMNS)]
    edges: list[list[int]] = []
    leaves: dict[int, int] = {}
    by_path = {place.path: place for place in session.tree.places.values()}

    def add(node: Node, path: tuple[int, ...], parent: int) -> None:
        number = len(nodes)
        edges.append([parent, number, 0, path[-1]])
        if isinstance(node, Leaf):
            leaves[node.statement] = number
            nodes.append([0] * len(NODE_COLUMNS))
            return
        place = by_path[path]
        kinds = [int(node.kind == kind) for kind in KINDS]
        nodes.append([1, place.extent // node.step, node.step, place.tail, *kinds])
        for i, child in enumerate(node.body):
            add(child, (*path, i), number)

    for i, root in enumerate(session.tree.roots):
        add(root, (i,), 0)
    return nodes, edges, leaves


def _strides(session: NestState, place: Place, statements: list[Statement]) -> list[int]:
    """Return by how many elements an iteration of a loop moves each access, without signs."""
    accesses: list[Access] = [access for one in statements for access in (one.target, *one.accesses)]
    steps = (session.tree.nest.strides(access).get(place.loop.iterator, 0) for access in accesses)
    return [abs(step) * place.loop.step for step in steps]


def _count(loop: Loop) -> int:
    return sum(1 + _count(child) for child in loop.body if isinstance(child, Loop))


def _log(number: float) -> float:
    return math.log2(max(1.0, number)) / BITS


def _array(rows: list[list[int]], columns: int) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, columns)
