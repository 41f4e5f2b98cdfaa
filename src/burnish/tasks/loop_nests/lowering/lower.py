"""Lowering of loop trees to LLVM IR: register tiles, copies in the order of use, exact tails."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from burnish.tasks.loop_nests.lowering.code import Code
from burnish.tasks.loop_nests.lowering.copies import fill, pack
from burnish.tasks.loop_nests.lowering.layouts import Indices, Layouts, Temporary
from burnish.tasks.loop_nests.lowering.registers import Tile
from burnish.tasks.loop_nests.nest import IDENTITIES, Nest
from burnish.tasks.loop_nests.tiles import Extents, TileLoops, tile_of
from burnish.tasks.loop_nests.tree import Loop, Node, Tree, leaves_of
from burnish.tasks.tensors.arrays import ALIGNMENT

KERNEL = "kernel"


@dataclass(frozen=True)
class Lowered:
    """A kernel's text, and the scratch memory that it needs."""

    text: str
    scratch_bytes: int
    thread_bytes: int = 0  # for each thread, after scratch_bytes; 0 if no loop is parallel


def lower(tree: Tree, vector_bytes: int) -> Lowered:
    """Return the kernel of a loop tree: `void kernel(ptr pointers)`.

    `pointers` has the inputs, the outputs, and the scratch memory, in this order. If a loop is parallel, two
    more entries follow: a function like `burnish_parallel` in tensors/thread_pool.h, or null to run without
    threads; and the number of threads, as a plain integer.

    Args:
        tree: The loop tree.
        vector_bytes: The size of the machine's vectors.
    """
    return _Lowering(tree, vector_bytes // tree.nest.itemsize).lower()


class _Lowering:
    def __init__(self, tree: Tree, lanes: int) -> None:
        self.tree, self.nest, self.lanes = tree, tree.nest, lanes
        self.uses = _uses(tree.nest)
        self.shapes = _temporary_shapes(tree, self.uses)
        self.shared: dict[str, int] = {}  # offsets of temporary tensors that all threads share
        self.functions: list[str] = []
        self.declarations: dict[str, None] = {}
        self.thread_bytes = 0

    def lower(self) -> Lowered:
        parallel = [
            leaves_of(loop) for loop in self.tree.roots if isinstance(loop, Loop) and loop.kind == "parallel"
        ]
        end = 0
        for name, shape in self.shapes.items():
            if not any(self.uses[name] <= set(leaves) for leaves in parallel):
                self.shared[name] = end
                end += _rounded(math.prod(shape) * self.nest.itemsize)

        def body() -> None:
            self._add_temporaries(set(range(len(self.nest.statements))))  # for the tail of a parallel loop
            at = dict.fromkeys(self.nest.extents, ("", 0))
            self._nodes(self.tree.roots, dict(self.nest.extents), at, ())

        scratch_bytes = _rounded(self._function(f"define void @{KERNEL}(ptr noalias %pointers)", end, body))
        constants = [
            f"@{name} = internal constant i64 {value}"
            for name, value in (("scratch_bytes", scratch_bytes), ("thread_bytes", self.thread_bytes))
        ]
        text = "\n".join([*constants, *self.functions, *self.declarations, "!0 = !{}", ""])
        return Lowered(text, scratch_bytes, self.thread_bytes)

    def _function(self, head: str, used: int, body: Callable[[], None], region: str = "%scratch") -> int:
        """Emit a function that uses a region after its used bytes; return the bytes that are used then."""
        self.code = code = Code("float" if self.nest.dtype == "f32" else "double", self.lanes)
        self.layouts = layouts = Layouts(code, self.nest, region, used)
        names = [*self.nest.inputs, *self.nest.outputs]
        for number, name in enumerate([*(f"t.{name}" for name in names), "scratch"]):
            slot = code.emit(f"getelementptr ptr, ptr %pointers, i64 {number}")
            code.lines.append(f"  %{name} = load ptr, ptr {slot}, !invariant.load !0")
        for name, offset in self.shared.items():
            base = code.emit(f"getelementptr inbounds i8, ptr %scratch, i64 {offset}")
            layouts.temporaries[name] = Temporary(base, self.shapes[name])
        body()
        width = self.lanes * self.nest.itemsize * 8
        lines = "\n".join([*code.lines, "  ret void"])
        self.functions.append(f'{head} nounwind "prefer-vector-width"="{width}" {{\nentry:\n{lines}\n}}\n')
        self.declarations |= dict.fromkeys(code.declared)
        return layouts.scratch_bytes

    def _add_temporaries(self, leaves: set[int]) -> None:
        """Reserve memory for the temporary tensors of which each thread has its own, used by these leaves."""
        for name in sorted(self.shapes.keys() - self.shared.keys()):
            if self.uses[name] <= leaves:
                shape = self.shapes[name]
                self.layouts.temporaries[name] = Temporary(self.layouts.scratch(math.prod(shape)), shape)

    def _parallel(self, loop: Loop, count: int, body: Callable[[str], None]) -> None:
        """Emit a parallel loop: its body becomes a function of the counter, which any thread may call."""
        main = self.code, self.layouts
        leaves = set(leaves_of(loop))

        def iteration() -> None:
            self._add_temporaries(leaves)
            body("%index")

        name = f"@iteration.{len(self.functions)}"
        head = f"define internal void {name}(ptr noalias %pointers, i64 %index, ptr noalias %mine)"
        self.thread_bytes = max(self.thread_bytes, _rounded(self._function(head, 0, iteration, "%mine")), 1)
        self.code, self.layouts = main
        emit, lines = self.code.emit, self.code.lines
        first = len(self.nest.inputs) + len(self.nest.outputs) + 1
        slots = [emit(f"getelementptr ptr, ptr %pointers, i64 {first + i}") for i in range(2)]
        function, threads = emit(f"load ptr, ptr {slots[0]}"), emit(f"load i64, ptr {slots[1]}")
        used, size = emit("load i64, ptr @scratch_bytes"), emit("load i64, ptr @thread_bytes")
        mine = emit(f"getelementptr inbounds i8, ptr %scratch, i64 {used}")
        alone = emit(f"icmp eq ptr {function}, null")
        one, several, end = (self.code.name(word) for word in ("one", "several", "joined"))
        sizes = f"i64 {size}, i64 {threads}"
        lines += [
            f"  br i1 {alone}, label %{one}, label %{several}",
            f"{several}:",
            f"  call void {function}(ptr {name}, ptr %pointers, i64 {count}, ptr {mine}, {sizes})",
            f"  br label %{end}",
            f"{one}:",
        ]
        self.code.block = one
        self.code.repeat(
            count, lambda i: lines.append(f"  call void {name}(ptr %pointers, i64 {i or 0}, ptr {mine})")
        )
        lines += [f"  br label %{end}", f"{end}:"]
        self.code.block = end

    def _nodes(self, nodes: Sequence[Node], extents: Extents, at: Indices, reducing: tuple[str, ...]) -> None:
        """Emit nodes; `reducing`: the iterators of the loops around them."""
        for node in nodes:
            if not isinstance(node, Loop):
                self._tile(TileLoops(node.statement, (), ""), extents, at, reducing)
                continue
            packed, temporaries = dict(self.layouts.packed), dict(self.layouts.temporaries)
            for tensor in node.packs:
                self.layouts.packed[tensor] = pack(self.layouts, node, tensor, extents, at)
            if tile := tile_of(self.nest, node):
                self._tile(tile, extents, at, reducing)
            else:
                self._loop(node, extents, at, reducing)
            self.layouts.packed, self.layouts.temporaries = packed, temporaries

    def _loop(self, loop: Loop, extents: Extents, at: Indices, reducing: tuple[str, ...]) -> None:
        name, step = loop.iterator, loop.step
        full, tail = divmod(extents[name], step)
        inside = (*reducing, name)
        leaves = set(leaves_of(loop))
        local = [tensor for tensor in self.shapes if self.uses[tensor] <= leaves]
        for number in sorted(leaves):
            statement = self.nest.statements[number]
            if name in statement.reduced and not set(reducing) & set(statement.reduced):
                fill(self.layouts, statement.target, IDENTITIES[statement.reduce], extents, at)

        def body(value: str, constant: int, size: int) -> None:
            moved = {**at, name: self._moved(at[name], value, step, constant)}
            self.layouts.inside(local, name, moved[name])
            self._nodes(loop.body, {**extents, name: size}, moved, inside)

        if loop.kind == "unroll":
            for number in range(full):
                body("", number * step, step)
        elif full > 1 and loop.kind == "parallel":
            self._parallel(loop, full, lambda value: body(value, 0, step))
        elif full:
            self.code.repeat(full, lambda value: body(value, 0, step))
        if tail:
            body("", full * step, tail)

    def _moved(self, at: tuple[str, int], value: str, step: int, constant: int) -> tuple[str, int]:
        """Return an index plus `step` times a value ("" for none), plus a constant."""
        base, before = at
        if value:
            moved = value if step == 1 else self.code.emit(f"mul nuw nsw i64 {value}, {step}")
            base = self.code.emit(f"add nuw nsw i64 {base}, {moved}") if base else moved
        return base, before + constant

    def _tile(self, loops: TileLoops, extents: Extents, at: Indices, reducing: tuple[str, ...]) -> None:
        """Emit a tile, whose values stay in registers during its reduction loops."""
        statement = self.nest.statements[loops.statement]
        tile = Tile(self.code, self.layouts, statement, loops.vector, extents)
        if not statement.reduce:
            tile.assign(at)
            return
        in_memory = bool(set(reducing) & set(statement.reduced))
        sums = tile.begin(at, in_memory)
        sums = self._reduce(tile, loops.outer, extents, at, sums)
        tile.finish(at, sums, in_memory)

    def _reduce(
        self, tile: Tile, outer: Sequence[Loop], extents: Extents, at: Indices, sums: list[str]
    ) -> list[str]:
        if not outer:
            return tile.body(extents, at, sums)
        loop, rest = outer[0], outer[1:]
        name = loop.iterator
        full, tail = divmod(extents[name], loop.step)

        def inside(value: str, constant: int, size: int, sums: list[str]) -> list[str]:
            moved = {**at, name: self._moved(at[name], value, loop.step, constant)}
            return self._reduce(tile, rest, {**extents, name: size}, moved, sums)

        if full == 1:
            sums = inside("", 0, loop.step, sums)
        elif full:
            carried = [
                (self.code.type(part.width), value) for part, value in zip(tile.parts, sums, strict=True)
            ]
            sums = self.code.carry(full, carried, lambda value, now: inside(value, 0, loop.step, now))
        if tail:
            sums = inside("", full * loop.step, tail, sums)
        return sums


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _uses(nest: Nest) -> dict[str, set[int]]:
    """Return the statements that write or read each tensor."""
    uses: dict[str, set[int]] = {}
    for number, statement in enumerate(nest.statements):
        for access in (statement.target, *statement.accesses):
            uses.setdefault(access.tensor, set()).add(number)
    return uses


def _temporary_shapes(tree: Tree, uses: dict[str, set[int]]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of temporary tensors: the parts that are live at the same time.

    A loop around all uses reduces its dimension to what one iteration covers. Its iterator indexes that
    dimension in all accesses, because otherwise the loops could not have been fused.
    """
    nest = tree.nest
    shapes = {}
    for one in nest.statements:
        tensor = one.target.tensor
        if tensor in nest.outputs:
            continue
        left = dict(zip(one.free, nest.shapes[tensor], strict=True))
        for place in tree.places.values():
            if uses[tensor] <= set(leaves_of(place.loop)):
                left[place.loop.iterator] = min(left[place.loop.iterator], place.loop.step)
        shapes[tensor] = tuple(left.values())
    return shapes
