"""Observations of a nest and its loop tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from burnish.core.objective import GraphArrays, Observation
from burnish.core.trace import split_entry
from burnish.core.view import Observed
from burnish.tasks.loop_nests.actions import ACTIONS, MOST_LOOPS, extents_at
from burnish.tasks.loop_nests.tree import Leaf, Loop, Node, Place, Tree

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
FLOWS = ("contains", "reads", "writes")
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
        Observation("ir", "The nest in its language, and its loops as comments", kind="text"),
        Observation("llvm_ir", "LLVM's IR before its passes", kind="text"),
        Observation("c_header", "The C header for calling the object file", kind="text"),
        Observation(
            "ir_tree_networkx",
            "Nodes for the nest, each loop and each statement; an edge leads from a node to each node inside",
            kind="graph",
            shape=(len(NODE_COLUMNS),),
            columns=NODE_COLUMNS,
            flows=FLOWS,
            texts="ir_graph_texts",
        ),
        Observation(
            "ir_graph_networkx",
            "The same, followed by a node for each tensor; edges of reads (flow 1) and writes (flow 2)",
            kind="graph",
            shape=(len(NODE_COLUMNS),),
            columns=NODE_COLUMNS,
            flows=FLOWS,
            texts="ir_graph_texts",
        ),
        Observation("ir_graph_texts", "A line for each node of the graphs, the tensors last", kind="text"),
    )
}


def observe(tree: Tree, cursor: int, space: str) -> Observed:
    """Return one of OBSERVATIONS that depend on the loops and the cursor only, the index of a loop."""
    return _OBSERVE[space](tree, cursor)


def loops(tree: Tree, cursor: int) -> NDArray[np.float32]:
    """Return float32[MOST_LOOPS, 30], by LOOP_COLUMNS: a row for each loop."""
    rows = np.zeros((MOST_LOOPS, len(LOOP_COLUMNS)), dtype=np.float32)
    for number, place in enumerate(list(tree.places.values())[:MOST_LOOPS]):
        row = _loop_row(tree, place, number == cursor)
        rows[number, : len(row)] = row
    return rows


def _loop_row(tree: Tree, place: Place, at_cursor: bool) -> list[float]:
    loop, leaves = place.loop, tree.leaves(place.path)
    statement = tree.nest.statements[leaves[0]]
    inside = {**extents_at(tree, place), loop.iterator: min(loop.step, place.extent)}
    packed = {name for other in (*tree.above(place.path), loop) for name in other.packs}
    row = [1.0, float(at_cursor), *(float(loop.kind == kind) for kind in KINDS)]
    row += [float(loop.iterator in statement.reduced), _log(place.count), _log(loop.step)]
    row += [place.tail / loop.step, len(place.path) / MOST_LOOPS, _count(loop) / MOST_LOOPS, len(leaves) / 4]
    row += [_log(math.prod(inside[name] for name in statement.iterators))]
    for access in (statement.target, *statement.accesses)[:OPERANDS]:
        stride = tree.nest.strides(access).get(loop.iterator, 0) * loop.step
        values = math.prod(inside[name] for name in access.iterators)
        moved = _log(abs(stride)) if stride else -1 / BITS
        row += [1.0, moved, _log(values), float(access.tensor in packed)]
    return row


def schedule(tree: Tree, cursor: int) -> NDArray[np.int64]:
    """Return int64[MOST_LOOPS, 6], by SCHEDULE_COLUMNS.

    Iterators are numbered from 1; a kind is its index in KINDS; `copies` has a bit for each tensor.
    """
    rows = np.zeros((MOST_LOOPS, len(SCHEDULE_COLUMNS)), dtype=np.int64)
    iterators, tensors = list(tree.nest.extents), list(tree.nest.shapes)
    for number, place in enumerate(list(tree.places.values())[:MOST_LOOPS]):
        loop = place.loop
        copies = sum(1 << tensors.index(name) for name in loop.packs)
        iterator, kind = 1 + iterators.index(loop.iterator), KINDS.index(loop.kind)
        rows[number] = number == cursor, iterator, loop.step, kind, len(place.path), copies
    return rows


def loops_tensor(tree: Tree, cursor: int) -> NDArray[np.int64]:
    """Return int64[10, 20], by LOOPTOOL_COLUMNS."""
    rows = np.zeros((ROWS, len(LOOPTOOL_COLUMNS)), dtype=np.int64)
    for number, place in enumerate(list(tree.places.values())[:ROWS]):
        statements = [tree.nest.statements[leaf] for leaf in tree.leaves(place.path)]
        reduced = any(place.loop.iterator in one.reduced for one in statements)
        rows[number, :4] = number == cursor, place.extent // place.loop.step, place.tail, reduced
        for stride in filter(None, _strides(tree, place)):
            rows[number, 4 + min(BINS - 1, stride.bit_length() - 1)] += 1
    return rows


def stride_tensor(tree: Tree, _: int) -> NDArray[np.int64]:
    """Return int64[2 * BINS]: accesses by stride, in bins: 0, 1, 2 to 3, 4 to 7 elements, and so on."""
    bins = np.zeros(2 * BINS, dtype=np.int64)
    for place in tree.places.values():
        for stride in _strides(tree, place):
            bins[min(2 * BINS - 1, stride.bit_length())] += 1
    return bins


def _strides(tree: Tree, place: Place) -> list[int]:
    """Return by how many elements an iteration of a loop moves each access, without signs."""
    moves = (moved for leaf in tree.leaves(place.path) for moved in tree.nest.moves[leaf])
    return [abs(moved.get(place.loop.iterator, 0)) * place.loop.step for moved in moves]


def previous_actions(trace: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[PREVIOUS, len(ACTIONS)]: a one-hot row for each of the last actions, latest first."""
    rows = np.zeros((PREVIOUS, len(ACTIONS)), dtype=np.int64)
    for row, text in zip(rows, reversed(trace), strict=False):
        row[ACTIONS.index(split_entry(text)[1])] = 1
    return rows


def graph(tree: Tree, tensors: bool) -> GraphArrays:
    """Return a node for the nest, each loop and each statement, and edges from parents to children.

    With tensors, also a node for each of them, and edges for reads and writes.
    """
    nodes: list[list[int]] = [[0] * len(NODE_COLUMNS)]
    edges: list[list[int]] = []
    leaves: dict[int, int] = {}

    def add(node: Node, path: tuple[int, ...], parent: int) -> None:
        number = len(nodes)
        edges.append([parent, number, 0, path[-1]])
        if isinstance(node, Leaf):
            leaves[node.statement] = number
            nodes.append([0] * len(NODE_COLUMNS))
            return
        place = tree.by_path[path]
        kinds = [int(node.kind == kind) for kind in KINDS]
        nodes.append([1, place.extent // node.step, node.step, place.tail, *kinds])
        for i, child in enumerate(node.body):
            add(child, (*path, i), number)

    for i, root in enumerate(tree.roots):
        add(root, (i,), 0)
    if tensors:
        numbers = {name: len(nodes) + i for i, name in enumerate(tree.nest.shapes)}
        nodes += [[0] * len(NODE_COLUMNS) for _ in numbers]
        for number, statement in enumerate(tree.nest.statements):
            for position, read in enumerate(statement.accesses):
                edges.append([numbers[read.tensor], leaves[number], 1, position])
            edges.append([leaves[number], numbers[statement.target.tensor], 2, 0])
    return GraphArrays(np.array(nodes, dtype=np.int64), np.array(edges, dtype=np.int64))


def graph_texts(tree: Tree, _: int) -> str:
    """Return a line for each node of `graph` with tensors: `nest`, the tree's lines, the tensors."""
    tensors = (f"{name}[{','.join(map(str, shape))}]" for name, shape in tree.nest.shapes.items())
    return "\n".join(["nest", *(line.strip() for line in str(tree).splitlines()), *tensors])


_OBSERVE: Mapping[str, Callable[[Tree, int], Observed]] = {
    "loops": loops,
    "schedule": schedule,
    "loops_tensor": loops_tensor,
    "stride_tensor": stride_tensor,
    "nest": lambda tree, _: str(tree.nest),
    "loop_tree": lambda tree, _: str(tree),
    "ir": lambda tree, _: str(tree.nest) + "".join(f"# {line}\n" for line in str(tree).splitlines()),
    "ir_tree_networkx": lambda tree, _: graph(tree, tensors=False),
    "ir_graph_networkx": lambda tree, _: graph(tree, tensors=True),
    "ir_graph_texts": graph_texts,
}


def _count(loop: Loop) -> int:
    return sum(1 + _count(child) for child in loop.body if isinstance(child, Loop))


def _log(number: float) -> float:
    return math.log2(max(1.0, number)) / BITS
