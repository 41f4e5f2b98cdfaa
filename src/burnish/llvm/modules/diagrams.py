"""Control flow, loops and calls of a module's text, as people read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from burnish.core.diagram import Arrow, Block, Diagram, Drawing
from burnish.core.listing import Section
from burnish.llvm.modules.listing import assembly_sections, plain_assembly, sections

ENTRY = "entry"
OUTSIDE = "function"  # the root of the tree of loops

_LABEL = re.compile(r'(?:"((?:[^"\\]|\\.)*)"|([-\w.$]+)):')
_TERMINATOR = re.compile(
    r"  (?:%\S+ = )?"
    r"(?:br|switch|indirectbr|invoke|callbr|catchswitch|catchret|cleanupret|ret|resume|unreachable)\b"
)
_TARGET = re.compile(r'label %(?:"((?:[^"\\]|\\.)*)"|([-\w.$]+))')
_CALL = re.compile(r'\b(?:call|invoke)\b[^@]*@(?:"((?:[^"\\]|\\.)*)"|([\w.$-]+))\(')

_MACHINE_BLOCK = re.compile(r"(?:(?:#|##|//|@|;) )?(%bb\.\d+|\.?LBB\d+_\d+):")
_MACHINE_TARGET = re.compile(r"(?<![\w.])\.?LBB\d+_\d+\b")
_LEAVING = frozenset("jmp jmpq ret retq retl ud2 hlt b br brk eret j jr tail bx udf trap ebreak".split())

Flow = Mapping[str, Sequence[str]]  # the successors of each basic block, which begins with the entry


def control_flow(text: str, name: str) -> Diagram:
    """Draw a function's basic blocks and the jumps between them."""
    function = _function(text, name)
    if not function:
        return Diagram()
    found = basic_blocks(function)
    blocks = tuple(Block(label, _title(label, lines), lines) for label, lines in found.items())
    arrows = []
    for label, lines in found.items():
        targets = successors(lines)
        sides = ("true", "false") if len(targets) == 2 and _terminator(lines).startswith("  br i1") else ()
        for i, target in enumerate(targets):
            arrows.append(Arrow(label, target, sides[i] if sides else ""))
    return Diagram(blocks, tuple(dict.fromkeys(arrows)))


def machine_flow(text: str, name: str) -> Diagram:
    """Draw the basic blocks of a function's assembly; the targets of tables of jumps are unknown."""
    function = _named(assembly_sections(text, True), name)
    if not function:
        return Diagram()
    bodies: dict[str, list[str]] = {}
    for line in function.lines:
        if begin := _MACHINE_BLOCK.match(line):
            bodies[begin[1]] = []
        elif bodies and (plain := plain_assembly(line)):
            next(reversed(bodies.values())).append(plain)
    following = dict(pairwise(bodies))
    blocks, arrows = [], list[Arrow]()
    for label, lines in bodies.items():
        blocks.append(Block(label, _title(ENTRY if label == "%bb.0" else label, lines), tuple(lines)))
        targets = [target for line in lines for target in _MACHINE_TARGET.findall(line) if target in bodies]
        if label in following and not (lines and lines[-1].split()[0] in _LEAVING):
            targets.append(following[label])
        arrows += [Arrow(label, target) for target in dict.fromkeys(targets)]
    return Diagram(tuple(blocks), tuple(arrows))


def loops(text: str, name: str) -> Diagram:
    """Draw the tree of a function's natural loops; a loop's lines are those of its own blocks."""
    function = _function(text, name)
    if not function:
        return Diagram()
    found = basic_blocks(function)
    bodies = natural_loops({label: successors(lines) for label, lines in found.items()})
    inner = {label: _innermost(label, bodies) for label in found}
    lines: dict[str | None, list[str]] = {None: [], **{header: [] for header in bodies}}
    counts = Counter(inner.values())
    for label, text_of in found.items():
        lines[inner[label]] += text_of
    blocks = [Block("", f"{OUTSIDE}, {_blocks(counts[None])} outside of loops", tuple(lines[None]))]
    arrows = []
    for header in bodies:
        blocks.append(
            Block(f"loop {header}", f"{header or ENTRY}: {_blocks(counts[header])}", tuple(lines[header]))
        )
        others = {other: body for other, body in bodies.items() if other != header}
        outer = _innermost(header, others)
        arrows.append(Arrow("" if outer is None else f"loop {outer}", f"loop {header}"))
    return Diagram(tuple(blocks), tuple(arrows))


def calls(text: str, _: str) -> Diagram:
    """Draw the module's functions and the direct calls between them."""
    functions = [section for section in sections(text, True) if section.name]
    plain = {section.name: section.lines for section in sections(text, False)}
    blocks = tuple(Block(one.name, one.title, plain[one.name]) for one in functions)
    known = {one.name for one in functions}
    arrows = []
    for one in functions:
        found = Counter(_unquoted(call) for line in one.lines for call in _CALL.finditer(line))
        arrows += [
            Arrow(one.name, name, str(count) if count > 1 else "")
            for name, count in found.items()
            if name in known
        ]
    return Diagram(blocks, tuple(arrows))


def basic_blocks(function: Section) -> dict[str, tuple[str, ...]]:
    """Return the lines of each basic block by its label; the entry is first, and "" if it has no label."""
    found: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in function.lines[1:-1]:
        label = _LABEL.match(line)
        if label:
            lines = found[_unquoted(label)] = []
        elif lines is None:
            lines = found[""] = []
        if not label:
            lines.append(line)
    return {label: tuple(body) for label, body in found.items()}


def successors(lines: Sequence[str]) -> list[str]:
    """Return the labels to which a block's terminator jumps, in its order."""
    return [_unquoted(target) for target in _TARGET.finditer(_terminator(lines))]


def natural_loops(flow: Flow) -> dict[str, frozenset[str]]:
    """Return the blocks of each natural loop by its header; loops that share a header are one.

    A loop is a jump back to a block that dominates it (the header), with all blocks that reach the jump
    without passing the header.
    """
    over = dominators(flow)
    before: dict[str, list[str]] = {label: [] for label in flow}
    for label, after in flow.items():
        for target in after:
            before[target].append(label)
    found: dict[str, frozenset[str]] = {}
    for header in flow:
        back = [label for label in before[header] if header in over.get(label, ())]
        if back:
            body, waiting = {header}, back
            while waiting:
                label = waiting.pop()
                if label not in body and label in over:
                    body.add(label)
                    waiting += before[label]
            found[header] = frozenset(body)
    return found


def dominators(flow: Flow) -> dict[str, frozenset[str]]:
    """Return the dominators of each block that the entry reaches, itself included.

    The greatest solution of D(b) = {b} + the intersection of D(p) over all p before b, in reverse post-order.
    """
    entry = next(iter(flow))
    order = list(_reverse_post_order(flow, entry))
    before: dict[str, list[str]] = {label: [] for label in order}
    for label in order:
        for target in flow[label]:
            before[target].append(label)
    found = {entry: frozenset({entry})}
    changed = True
    while changed:
        changed = False
        for label in order[1:]:
            known = [found[one] for one in before[label] if one in found]
            new = frozenset.intersection(*known) | {label}
            changed = changed or found.get(label) != new
            found[label] = new
    return found


def _reverse_post_order(flow: Flow, entry: str) -> Iterator[str]:
    seen, done = {entry}, []
    stack = [(entry, iter(flow[entry]))]
    while stack:
        label, rest = stack[-1]
        following = next((target for target in rest if target not in seen), None)
        if following is None:
            done.append(label)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(flow[following])))
    return reversed(done)


def _innermost(label: str, bodies: Mapping[str, frozenset[str]]) -> str | None:
    """Return the header of the smallest loop that contains a block; None outside of loops."""
    around = [header for header, body in bodies.items() if label in body]
    return min(around, key=lambda header: len(bodies[header]), default=None)


def _function(text: str, name: str) -> Section | None:
    return _named(sections(text, False), name)


def _named(found: Sequence[Section], name: str) -> Section | None:
    return next((one for one in found if one.name == name), None) if name else None


def _terminator(lines: Sequence[str]) -> str:
    """Return the last instruction of a block, which may have several lines."""
    start = next((i for i in range(len(lines) - 1, -1, -1) if _TERMINATOR.match(lines[i])), len(lines))
    return "\n".join(lines[start:])


def _title(label: str, lines: Sequence[str]) -> str:
    return f"{label or ENTRY} ({len(lines)})"


def _blocks(count: int) -> str:
    return "1 block" if count == 1 else f"{count} blocks"


def _unquoted(found: re.Match[str]) -> str:
    return found[1] if found[1] is not None else found[2]


DRAWINGS: Mapping[str, Drawing] = {
    "control flow": Drawing("ir", control_flow, by_section=True, named=False),
    "loops": Drawing("ir", loops, by_section=True, named=False),
    "calls": Drawing("ir", calls),
    "machine code": Drawing("assembly", machine_flow, by_section=True, named=False),
}
