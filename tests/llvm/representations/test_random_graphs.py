"""Straight-line code and jumps made at random, with the graph that they must have."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from burnish import _native
from burnish.llvm.representations.graph import FLOWS, program_graph

OPCODES = ("add", "sub", "mul", "and", "or", "xor")
CONTROL, DATA, CALL, _ = range(len(FLOWS))

Operation = tuple[str, int, int]


@st.composite
def operations(draw: st.DrawFn) -> list[Operation]:
    """Draw instructions over two arguments: an operand below 0 is a constant, else the number of a value."""
    made: list[Operation] = []
    for number in range(draw(st.integers(0, 12))):
        operand = st.integers(-3, number + 1)
        made.append((draw(st.sampled_from(OPCODES)), draw(operand), draw(operand)))
    return made


@given(operations())
def test_straight_line_code(code: list[Operation]) -> None:
    def spelled(operand: int) -> str:
        return str(operand) if operand < 0 else f"%v{operand}"

    lines = [
        f"  %v{i + 2} = {opcode} i32 {spelled(left)}, {spelled(right)}"
        for i, (opcode, left, right) in enumerate(code)
    ]
    text = "\n".join(["define i32 @f(i32 %v0, i32 %v1) {", *lines, f"  ret i32 %v{len(code) + 1}", "}"])
    graph = program_graph(_native.Module(text.encode()))

    variables = [1, 2, *range(4, 4 + 2 * len(code), 2)]
    instructions = [*range(3, 3 + 2 * len(code), 2), 3 + 2 * len(code)]
    constants: dict[int, int] = {}
    edges: list[tuple[int, int, int, int]] = []
    for node, result, (_, *operands) in zip(instructions, variables[2:], code, strict=False):
        for position, operand in enumerate(operands):
            if operand < 0:
                source = constants.setdefault(operand, instructions[-1] + 1 + len(constants))
            else:
                source = variables[operand]
            edges.append((source, node, DATA, position))
        edges.append((node, result, DATA, 0))
    edges.append((variables[len(code) + 1], instructions[-1], DATA, 0))
    edges += [(first, second, CONTROL, 0) for first, second in pairwise(instructions)]
    edges += [(0, instructions[0], CALL, 0), (instructions[-1], 0, CALL, 0)]
    assert sorted(map(tuple, graph.edges.tolist())) == sorted(edges)
    texts = ["[external]", "i32", "i32"]
    for opcode, *_ in code:
        texts += [f"{opcode} i32", "i32"]
    assert graph.node_texts() == [*texts, "ret i32", *(f"i32 {value}" for value in constants)]


@given(st.lists(st.lists(st.integers(1, 6), max_size=4), min_size=7, max_size=7))
def test_jumps(targets: list[list[int]]) -> None:
    """Seven blocks of one switch each: block i goes to the blocks of targets[i], or returns."""
    blocks = []
    for i, (otherwise, *cases) in enumerate([*block, 0] for block in targets):
        if not targets[i]:
            blocks.append(f"b{i}:\n  ret void")
        else:
            listed = " ".join(f"i32 {case}, label %b{target}" for case, target in enumerate(cases[:-1]))
            blocks.append(f"b{i}:\n  switch i32 %x, label %b{otherwise} [ {listed} ]")
    text = "\n".join(["define internal void @f(i32 %x) {", *blocks, "}"])
    graph = program_graph(_native.Module(text.encode()))
    control = [tuple(edge) for edge in graph.edges.tolist() if edge[2] == CONTROL]
    assert control == [
        (2 + i, 2 + target, CONTROL, position)
        for i, block in enumerate(targets)
        for position, target in enumerate(block)
    ]
