"""Search graphs as DOT, for graphviz, and as SVG, without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

from burnish.core.errors import InputError
from burnish.evaluation.search_graph import SearchGraph

BEST = "#D55E00"
PLAIN, FAINT = "#999999", "#cccccc"
ROW, COLUMN_GAP = 44, 30  # pixels between states above each other; beside what is written on an edge
LETTER, LINE = 6.2, 13  # pixels of a letter and a line
BOX = 96, 32
MARGIN = 16


def dot(graph: SearchGraph) -> str:
    """Return a graph in graphviz's language: states by numbers, the initial one is s0."""
    numbers = {state: f"s{number}" for number, state in enumerate(graph.costs)}
    lines = ["digraph search {", "  rankdir=LR;", '  node [shape=box, style=rounded, fontname="Helvetica"];']
    if graph.note:
        lines.append(f"  label={_quoted(graph.note)};")
    for state, name in numbers.items():
        bold = f", color={_quoted(BEST)}, penwidth=3" if state in graph.best else ""
        lines.append(f"  {name} [label={_quoted(chr(10).join(graph.label(state)))}{bold}];")
    steps = set(_steps(graph))
    for (before, after), text in graph.edges.items():
        bold = f", color={_quoted(BEST)}, penwidth=3" if (before, after) in steps else ""
        lines.append(f"  {numbers[before]} -> {numbers[after]} [label={_quoted(text)}{bold}];")
    return "\n".join([*lines, "}", ""])


def svg(graph: SearchGraph) -> str:
    """Return a graph as a picture: the initial state on the left, each next one right of the one before."""
    parents = graph.parents
    places, width, height = _places(graph, parents)
    steps = set(_steps(graph))
    tree = {(before, after) for after, before in parents.items()}
    parts: list[str] = []
    for edge in sorted(
        graph.edges, key=lambda edge: (edge in steps, edge in tree)
    ):  # the best one over others
        parts += _arrow(graph, edge, places, best=edge in steps, tree=edge in tree)
    for state, (x, y) in places.items():
        parts += _box(graph.label(state), x, y, best=state in graph.best)
    if graph.note:
        parts.append(f'<text x="{MARGIN}" y="{height + LINE:.0f}">{escape(graph.note)}</text>')
        height += 2 * LINE
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
    head += f'width="{width:.0f}" height="{height:.0f}" font-family="Helvetica, sans-serif" font-size="11">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])


FORMATS: dict[str, Callable[[SearchGraph], str]] = {".dot": dot, ".svg": svg}


def writer_of(path: Path) -> Callable[[SearchGraph], str]:
    """Return what makes the text of a file, by the ending of its name.

    Raises:
        InputError: it is no known one.
    """
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: expected a name that ends in {' or '.join(FORMATS)}")
    return FORMATS[path.suffix]


def _steps(graph: SearchGraph) -> Iterator[tuple[str, str]]:
    yield from zip(graph.best, graph.best[1:], strict=False)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _places(
    graph: SearchGraph, parents: dict[str, str]
) -> tuple[dict[str, tuple[float, float]], float, float]:
    """Return where each state's box begins, and how large all is; a tree's leaves each have a row."""
    root = graph.best[0]
    children: dict[str, list[str]] = {}
    for state in graph.costs:  # the cheapest first
        if state in parents:
            children.setdefault(parents[state], []).append(state)
    order, stack, depths = [], [root], {root: 0}
    while stack:
        state = stack.pop()
        order.append(state)
        for child in reversed(children.get(state, [])):
            depths[child] = depths[state] + 1
            stack.append(child)
    rows: dict[str, float] = {}
    for state in order:
        if state not in children:
            rows[state] = len(rows)
    for state in reversed(order):  # children come before
        if state in children:
            rows[state] = sum(rows[child] for child in children[state]) / len(children[state])
    gaps: list[float] = [COLUMN_GAP] * (max(depths.values()) + 1)
    for child, parent in parents.items():
        gaps[depths[child]] = max(gaps[depths[child]], COLUMN_GAP + LETTER * len(graph.edges[parent, child]))
    lefts = [MARGIN + sum(gaps[1 : depth + 1]) + depth * BOX[0] for depth in range(len(gaps))]
    places = {state: (lefts[depths[state]], MARGIN + ROW * rows[state]) for state in order}
    return places, lefts[-1] + BOX[0] + MARGIN, 2 * MARGIN + ROW * max(rows.values()) + BOX[1]


def _arrow(
    graph: SearchGraph,
    edge: tuple[str, str],
    places: dict[str, tuple[float, float]],
    *,
    best: bool,
    tree: bool,
) -> Iterator[str]:
    """Yield an edge; one that is not of the tree is dashed, and says its entry to who points at it."""
    (x0, y0), (x1, y1) = (places[state] for state in edge)
    x0, y0, y1 = x0 + BOX[0], y0 + BOX[1] / 2, y1 + BOX[1] / 2
    text = escape(graph.edges[edge])
    turn = x0 + COLUMN_GAP
    kind = (
        f'class="best" stroke="{BEST}" stroke-width="3"' if best else f'stroke="{PLAIN if tree else FAINT}"'
    )
    dashes = "" if tree else ' stroke-dasharray="4 3"'
    line = f"M{x0:.1f},{y0:.1f} C{turn:.1f},{y0:.1f} {x0:.1f},{y1:.1f} {turn:.1f},{y1:.1f} L{x1:.1f},{y1:.1f}"
    yield f'<path d="{line}" fill="none" {kind}{dashes}><title>{text}</title></path>'
    if tree:
        yield f'<text x="{x1 - 6:.1f}" y="{y1 - 4:.1f}" text-anchor="end">{text}</text>'


def _box(label: tuple[str, ...], x: float, y: float, *, best: bool) -> Iterator[str]:
    kind = f'class="best" stroke="{BEST}" stroke-width="3"' if best else f'stroke="{PLAIN}"'
    width, height = BOX
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{width}" height="{height}" rx="6" fill="white" {kind}/>'
    for number, line in enumerate(label):
        at = f'x="{x + width / 2:.1f}" y="{y + LINE * (number + 1):.1f}"'
        yield f'<text {at} text-anchor="middle">{escape(line)}</text>'
