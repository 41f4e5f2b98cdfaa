"""The ops of a module with the tensors between them, and its loops, as people read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.core.diagram import Arrow, Block, Diagram, Drawing

_OP = re.compile(r"(?:(%[^=]*?) = )?([a-z_]+\.[\w.]+|module|return)\b")
_VALUE = re.compile(r"%\w+")
_VALUE_LIST = re.compile(r"%\w+(?::\d+)?")
_CARRIED = re.compile(r"(%\w+) = (%\w+)")
_SITE = re.compile(r'burnish\.site = "([^"]*)"')
_LOOP = re.compile(r'burnish\.loop = "([^"]*)"')
_TYPE = re.compile(r"(?:tensor|vector|memref)<([\d?x]+)x[a-z]\w*")

_WRITES = ("tensor.insert_slice", "tensor.parallel_insert_slice", "vector.transfer_write")
_YIELDS = ("scf.yield", "tensor.parallel_insert_slice")
_INPUT, _OUTPUT = "bufferization.to_tensor", "bufferization.materialize_in_destination"
_MOVES = re.compile(
    r"vector\.(?:transfer_\w+|broadcast|extract\w*|insert\w*|shape_cast|transpose|load|store|step|create_mask)$"
    r"|arith\.constant$"
)


@dataclass
class _Op:
    """An op of a module's text, with the ops in its regions."""

    name: str
    results: tuple[str, ...]
    lines: list[str]
    inside: list[_Op] = field(default_factory=list)
    closing: str = ""  # the text after its last region: attributes and types

    @property
    def text(self) -> str:
        return self.lines[0] + self.closing

    @property
    def operands(self) -> list[str]:
        return _VALUE.findall(self.lines[0].partition(" = ")[2] if self.results else self.lines[0])

    @property
    def is_loop(self) -> bool:
        return self.name in ("scf.for", "scf.forall")

    @property
    def computes(self) -> bool:
        """True for an op on tensors, and for one on vectors that computes values."""
        if self.name.startswith("linalg."):
            return self.name not in ("linalg.yield", "linalg.index")
        of_vectors = self.name.startswith(("vector.", "arith.", "math.")) and "vector<" in self.text
        return bool(self.results) and of_vectors and not _MOVES.match(self.name)


def ops(text: str, _: str) -> Diagram:
    """Draw the ops that compute tensors or vectors, and which op's values each one reads.

    Slices, copies and loops pass values on, and are not drawn.
    """
    blocks: list[Block] = []
    arrows: list[Arrow] = []
    sources: dict[str, tuple[str, ...]] = {}  # by value: the blocks that compute it
    numbers: Counter[str] = Counter()

    def reads(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for value in values for one in sources.get(value, ())))

    def draw(op: _Op, name: str, title: str, lines: Sequence[str]) -> None:
        blocks.append(Block(name, title, tuple(lines)))
        arrows.extend(Arrow(source, name) for source in reads(op.operands))
        sources.update(dict.fromkeys(op.results, (name,)))

    def visit(op: _Op) -> None:
        if op.computes:
            draw(op, *_named(op, numbers), op.lines)
        elif op.name == _INPUT:
            draw(op, f"input {op.operands[0]}", f"input {_shape(op.text)}", ())
        elif op.name == _OUTPUT:
            draw(op, f"output {op.operands[-1]}", f"output {_shape(op.text)}", ())
        else:
            sources.update((inner, reads([outer])) for inner, outer in _CARRIED.findall(op.lines[0]))
            for one in op.inside:
                visit(one)
            yielded = [reads(one.operands) for one in _all(op.inside) if one.name in _YIELDS]
            passed = yielded[-1] if yielded else reads(op.operands[:1] if op.name in _WRITES else op.operands)
            sources.update(dict.fromkeys(op.results, passed or reads(op.operands)))

    for op in _read(text):
        visit(op)
    return Diagram(tuple(blocks), tuple(dict.fromkeys(arrows)))


def loops(text: str, _: str) -> Diagram:
    """Draw the tree of loops; its leaves are the ops that compute."""
    blocks, arrows = [Block("", "program")], list[Arrow]()
    numbers: Counter[str] = Counter()
    constants: dict[str, str] = {}

    def visit(op: _Op, parent: str) -> None:
        name = parent
        if op.is_loop:
            found = _LOOP.search(op.closing)
            name = f"loop {found[1] if found else numbers[op.name]}"
            numbers[op.name] += 1
            steps = _VALUE.sub(lambda value: constants.get(value[0], value[0]), _steps(op))
            blocks.append(Block(name, f"{name}: {steps}", (f"{op.name} {steps}",)))
        elif op.computes:
            name, title = _named(op, numbers)
            blocks.append(Block(name, title, tuple(op.lines)))
        elif op.name == "arith.constant":
            constants.update(
                dict.fromkeys(op.results, op.lines[0].partition("constant ")[2].partition(" ")[0])
            )
        if name != parent:
            arrows.append(Arrow(parent, name))
        for one in op.inside if not op.computes else ():
            visit(one, name)

    for op in _read(text):
        visit(op, "")
    return Diagram(tuple(blocks), tuple(arrows))


def _steps(op: _Op) -> str:
    """Return the bounds of a loop: "0 to 12 by 2", or the iterations of a parallel loop."""
    line = op.lines[0]
    if found := re.search(r"= (%?\w+) to (%?\w+) step (%?\w+)", line):
        return f"{found[1]} to {found[2]} by {found[3]}"
    found = re.search(r" in \((.*?)\)", line)
    return f"{found[1]} in parallel" if found else "in parallel"


def _named(op: _Op, numbers: Counter[str]) -> tuple[str, str]:
    """Return a computing op's name, which is its site if it is one, and its title."""
    found = _SITE.search(op.text)
    name = found[1] if found else f"{op.name} {numbers[op.name]}"
    numbers[op.name] += 1
    return name, f"{name} {_shape(op.text)}"


def _shape(text: str) -> str:
    """Return the shape of the last tensor or vector in a text; "" for a scalar."""
    shapes: list[str] = _TYPE.findall(text)
    return shapes[-1] if shapes else ""


def _all(found: Sequence[_Op]) -> Iterator[_Op]:
    for op in found:
        yield op
        yield from _all(op.inside)


def _read(text: str) -> list[_Op]:
    """Read a module's text in MLIR's own form, in which a line begins at most one op."""
    top: list[_Op] = []
    path: list[_Op] = []
    for line in text.splitlines():
        plain = line.strip()
        for op in path:
            op.lines.append(line)
        if plain.startswith("}") and path:
            path[-1].closing += plain
            if not plain.endswith("{"):
                path.pop()
            continue
        if not (found := _OP.match(plain)):
            continue
        results = tuple(name.partition(":")[0] for name in _VALUE_LIST.findall(found[1] or ""))
        op = _Op(found[2], results, [plain])
        (path[-1].inside if path else top).append(op)
        if plain.endswith("{"):
            path.append(op)
    return top


DRAWINGS: Mapping[str, Drawing] = {
    "ops": Drawing("module", ops),
    "loops": Drawing("module", loops),
}
