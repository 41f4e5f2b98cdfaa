"""Two states' diagrams merged into one picture, laid out by graphviz."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from burnish.core.diagram import Block, Diagram, Drawing
from burnish.core.listing import Section
from burnish.explorer.changes import Line, Numbers, SectionChange, alignment, compare, differ, with_numbers

MOST_BOXES = 300  # in a picture: people find nothing in larger ones, and graphviz takes seconds
PLAIN_BOXES = 100  # with more, graphviz improves its layout for a third of the time only
MOST_LETTERS = 44  # of a title in a box; C++ has names of thousands
MOST_LINES = 60  # of a box's text
LETTER = 6.7  # points; the width of a letter of the page's font; a sign and a space come before a title
HEIGHT = 22.0  # points, of a box
INCH = 72.0  # points

Kind = Literal["same", "changed", "removed", "added"]


@dataclass(frozen=True)
class Box:
    """A block of either state; x and y are its centre, in points from the upper left corner."""

    name: str  # in the later state, if it is there
    title: str
    kind: Kind
    lines: tuple[Line, ...] = ()  # its text: a difference if the block has changed
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = HEIGHT

    @property
    def text(self) -> str:
        """The title as far as it fits into a box."""
        cut = len(self.title) > MOST_LETTERS
        return f"{self.title[: MOST_LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}" if cut else self.title


@dataclass(frozen=True)
class Curve:
    """An arrow from one box to another."""

    source: int  # index of a box
    target: int
    kind: Kind
    label: str = ""
    points: tuple[tuple[float, float], ...] = ()  # of cubic Bezier curves: 1 + 3 n
    label_at: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Picture:
    """Two states' diagrams in one."""

    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    left_out: int = 0  # boxes, because a picture has MOST_BOXES
    width: float = 0.0  # points
    height: float = 0.0


def merged(
    first: Diagram, second: Diagram, drawing: Drawing, numbers: Numbers = None, most: int = MOST_BOXES
) -> Picture:
    """Merge the diagrams of two states: equal and changed blocks are one box; not yet laid out.

    Args:
        first: The diagram of the earlier state.
        second: The diagram of the later state.
        drawing: How both were drawn.
        numbers: Matches the names that the compiler gives anew in each state: see Listing.renumbered.
        most: The most boxes: see `cut`.
    """
    before = {block.name: block for block in first.blocks}
    after = {block.name: block for block in second.blocks}
    if drawing.named:  # each block has its own numbers
        partners = {name: name for name in after if name in before}
        pairs = {name: (before[name], after[name]) for name in partners}
    else:
        texts = [[line for block in diagram.blocks for line in block.lines] for diagram in (first, second)]
        steps, renamed = alignment(texts[0], texts[1], numbers)
        partners = _partners(first, second, steps)
        pairs = {
            new: (
                before[old]._replace(lines=tuple(with_numbers(before[old].lines, renamed, numbers))),
                after[new],
            )
            for new, old in partners.items()
        }
        numbers = None
    boxes = [
        Box(name, block.title, "added" if name not in pairs else _kind(*pairs[name], numbers))
        for name, block in after.items()
    ]
    places = {name: i for i, name in enumerate(after)}
    old_places = {old: places[new] for new, old in partners.items()}
    for name, block in before.items():
        if name not in old_places:
            old_places[name] = len(boxes)
            boxes.append(Box(name, block.title, "removed"))
    picture = cut(Picture(tuple(boxes), tuple(_curves(first, second, old_places, places))), most)

    def lines(box: Box) -> tuple[Line, ...]:
        if box.kind == "removed":
            return _all(before[box.name].lines, "removed")
        if box.kind == "changed" and (change := _change(*pairs[box.name], numbers)):
            return _few(change.lines)
        return _all(after[box.name].lines, "added" if box.kind == "added" else "same")

    return replace(picture, boxes=tuple(replace(box, lines=lines(box)) for box in picture.boxes))


def without(diagram: Diagram, names: Collection[str]) -> Diagram:
    """Return a diagram without some blocks, and without their arrows."""
    return Diagram(
        tuple(block for block in diagram.blocks if block.name not in names),
        tuple(one for one in diagram.arrows if one.source not in names and one.target not in names),
    )


def cut(picture: Picture, most: int = MOST_BOXES) -> Picture:
    """Return a picture of at most so many boxes: the changed ones, their neighbours, then the first ones."""
    if len(picture.boxes) <= most:
        return picture
    changed = {i for i, box in enumerate(picture.boxes) if box.kind != "same"}
    changed |= {end for one in picture.curves if one.kind != "same" for end in (one.source, one.target)}
    beside = {
        end
        for one in picture.curves
        if {one.source, one.target} & changed
        for end in (one.source, one.target)
    }
    order = sorted(range(len(picture.boxes)), key=lambda i: (i not in changed, i not in beside, i))
    places = {i: place for place, i in enumerate(sorted(order[:most]))}
    return Picture(
        tuple(picture.boxes[i] for i in places),
        tuple(
            replace(one, source=places[one.source], target=places[one.target])
            for one in picture.curves
            if one.source in places and one.target in places
        ),
        len(picture.boxes) - most,
    )


def laid_out(picture: Picture) -> Picture:
    """Return a picture with positions; graphviz is C code, which may crash: call this in a worker."""
    import pygraphviz

    lines = [
        "digraph {",
        "nslimit=1; nslimit1=1;" if len(picture.boxes) > PLAIN_BOXES else "",
        f"nodesep=0.25; ranksep=0.35; node [shape=box, fixedsize=true, height={HEIGHT / INCH}];",
    ]
    lines.append('edge [arrowhead=none, fontname="Courier", fontsize=10];')
    for i, box in enumerate(picture.boxes):
        lines.append(f'b{i} [label="", width={((2 + len(box.text)) * LETTER + 14) / INCH:.3f}];')
    for i, curve in enumerate(picture.curves):
        label = json.dumps(f" {curve.label} " if curve.label else "", ensure_ascii=False)
        lines.append(f"b{curve.source} -> b{curve.target} [id=c{i}, label={label}];")
    found = json.loads(pygraphviz.AGraph(string="\n".join([*lines, "}"])).draw(format="json0", prog="dot"))
    _, _, width, height = (float(number) for number in found["bb"].split(","))

    def point(text: str) -> tuple[float, float]:
        x, y = text.split(",")
        return round(float(x), 1), round(height - float(y), 1)

    objects = {one["name"]: one for one in found.get("objects", ())}
    boxes = list(picture.boxes)
    for i, box in enumerate(boxes):
        placed = objects[f"b{i}"]
        x, y = point(placed["pos"])
        boxes[i] = replace(box, x=x, y=y, width=round(float(placed["width"]) * INCH, 1))
    curves = list(picture.curves)
    for one in found.get("edges", ()):
        i = int(one["id"][1:])
        at = point(one["lp"]) if "lp" in one else (0.0, 0.0)
        curves[i] = replace(curves[i], points=tuple(map(point, one["pos"].split())), label_at=at)
    return replace(picture, boxes=tuple(boxes), curves=tuple(curves), width=width, height=height)


def as_json(picture: Picture) -> dict[str, Any]:
    """Return a picture as the page reads it."""
    return {
        "width": picture.width,
        "height": picture.height,
        "left_out": picture.left_out,
        "boxes": [vars(box) | {"text": box.text} for box in picture.boxes],
        "curves": [vars(curve) for curve in picture.curves],
    }


def _partners(
    first: Diagram, second: Diagram, steps: Sequence[tuple[str, int, int, int, int]]
) -> dict[str, str]:
    """Return the counterparts of the second diagram's blocks, by votes of the lines that are aligned."""
    owners = [[block.name for block in diagram.blocks for _ in block.lines] for diagram in (first, second)]
    votes = Counter[tuple[str, str]]()
    for kind, start, end, low, high in steps:
        if kind == "same":
            votes.update(zip(owners[0][start:end], owners[1][low:high], strict=True))
    if first.blocks and second.blocks:  # a diagram's first block is its entry or its root
        votes[first.blocks[0].name, second.blocks[0].name] += len(owners[0])
    found: dict[str, str] = {}
    taken: set[str] = set()
    for (old, new), _ in votes.most_common():
        if new not in found and old not in taken:
            found[new] = old
            taken.add(old)
    return found


def _kind(old: Block, new: Block, numbers: Numbers) -> Kind:
    pair = Section("", "", old.lines), Section("", "", new.lines)
    return "changed" if differ(*pair, numbers) or compare(*pair, numbers) else "same"


def _change(old: Block, new: Block, numbers: Numbers) -> SectionChange | None:
    return compare(Section("", "", old.lines), Section("", "", new.lines), numbers)


def _all(lines: Sequence[str], kind: Literal["same", "removed", "added"]) -> tuple[Line, ...]:
    return _few([Line(kind, line) for line in lines])


def _few(lines: Sequence[Line]) -> tuple[Line, ...]:
    if len(lines) <= MOST_LINES:
        return tuple(lines)
    return (
        *lines[:MOST_LINES],
        Line("same", "", stands_for=sum(one.stands_for for one in lines[MOST_LINES:])),
    )


def _curves(
    first: Diagram, second: Diagram, old_places: Mapping[str, int], places: Mapping[str, int]
) -> Iterator[Curve]:
    labels: list[dict[tuple[int, int], list[str]]] = [{}, {}]
    for side, diagram, known in ((0, first, old_places), (1, second, places)):
        for arrow in diagram.arrows:
            labels[side].setdefault((known[arrow.source], known[arrow.target]), []).append(arrow.label)
    before, after = ({ends: ", ".join(filter(None, all_)) for ends, all_ in one.items()} for one in labels)
    for ends, label in after.items():
        if ends not in before:
            yield Curve(*ends, "added", label)
        elif before[ends] == label:
            yield Curve(*ends, "same", label)
        else:
            yield Curve(*ends, "changed", f"{before[ends] or 1} → {label or 1}")
    for ends in before.keys() - after.keys():
        yield Curve(*ends, "removed", before[ends])
