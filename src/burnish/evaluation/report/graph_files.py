"""Search graphs as DOT, for graphviz, and as SVG, without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

from burnish.core.errors import InputError
from burnish.evaluation.report.search_graph import SearchGraph

BEST = "#D55E00"
PLAIN, FAINT = "#999999", "#cccccc"
EXCEEDING = "#f2f2f2"  # fills the box of a state that exceeds a limit
LETTER, LINE = 6.2, 13  # pixels of a letter and a line
BOX = 168, 45
GAP = 12, 40  # pixels between states of a level; between levels, where the entries are written
MARGIN = 16
MOST_BESIDE = 5  # states of a level: the picture is about 980 pixels wide at most


def dot(graph: SearchGraph) -> str:
    """Return a graph in graphviz's language: states by numbers, the initial one is s0."""
    graph = graph.condensed
    numbers = {state: f"s{number}" for number, state in enumerate(graph.costs)}
    lines = ["digraph search {", '  node [shape=box, style=rounded, fontname="Helvetica"];']
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
    """Return a graph as a picture: the initial state on top, the best way on the left.

    A level has few states: those after the states above, the best way first, then the cheapest.
    """
    graph = graph.condensed
    parents = graph.parents
    levels, more = _levels(graph, parents)
    places: dict[str, tuple[float, float]] = {
        state: (MARGIN + slot * (BOX[0] + GAP[0]), MARGIN + depth * (BOX[1] + GAP[1]))
        for depth, level in enumerate(levels)
        for slot, state in enumerate(level)
    }
    width = 2 * MARGIN + max(x for x, _ in places.values()) + BOX[0]
    height: float = 2 * MARGIN + len(levels) * (BOX[1] + GAP[1]) - GAP[1] + LINE
    steps = set(_steps(graph))
    tree = {(before, after) for after, before in parents.items()}
    drawn = [edge for edge in graph.edges if edge[0] in places and edge[1] in places]
    parts: list[str] = []
    for edge in sorted(drawn, key=lambda edge: (edge in steps, edge in tree)):  # the best one over others
        parts += _arrow(graph, edge, places, best=edge in steps, tree=edge in tree)
    for state, (x, y) in places.items():
        parts += _box(graph, state, x, y)
    for depth, count in more.items():
        y = MARGIN + depth * (BOX[1] + GAP[1]) + BOX[1] / 2
        x = MARGIN + len(levels[depth]) * (BOX[0] + GAP[0])
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}">{count} more</text>')
        width = max(width, x + 60)
    for line in graph.note.split("; "):
        parts.append(f'<text x="{MARGIN}" y="{height:.0f}">{escape(line)}</text>')
        height += LINE
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


def _levels(graph: SearchGraph, parents: dict[str, str]) -> tuple[list[list[str]], dict[int, int]]:
    """Return the states of each level that are drawn, and how many more a level has."""
    children: dict[str, list[str]] = {}
    for state in graph.costs:  # the cheapest trace's first
        if state in parents:
            children.setdefault(parents[state], []).append(state)
    levels: list[list[str]] = [[graph.best[0]]]
    more: dict[int, int] = {}
    while True:
        following = [child for state in levels[-1] for child in children.get(state, ())]
        following.sort(key=lambda state: state not in graph.best)
        if not following:
            return levels, more
        if len(following) > MOST_BESIDE:
            more[len(levels)] = len(following) - MOST_BESIDE
        levels.append(following[:MOST_BESIDE])


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
    x0, y0, x1 = x0 + BOX[0] / 2, y0 + BOX[1], x1 + BOX[0] / 2
    text, turn = graph.edges[edge], (y0 + y1) / 2
    kind = (
        f'class="best" stroke="{BEST}" stroke-width="3"' if best else f'stroke="{PLAIN if tree else FAINT}"'
    )
    dashes = "" if tree else ' stroke-dasharray="4 3"'
    line = f"M{x0:.1f},{y0:.1f} C{x0:.1f},{turn:.1f} {x1:.1f},{turn:.1f} {x1:.1f},{y1:.1f}"
    yield f'<path d="{line}" fill="none" {kind}{dashes}><title>{escape(text)}</title></path>'
    if tree:
        place = f'x="{x1:.1f}" y="{y1 - 6:.1f}" text-anchor="middle"'
        halo = 'stroke="white" stroke-width="4" paint-order="stroke"'
        yield f"<text {place} {halo}>{escape(_fitting(text))}<title>{escape(text)}</title></text>"


def _box(graph: SearchGraph, state: str, x: float, y: float) -> Iterator[str]:
    best, above = state in graph.best, state in graph.exceeded
    kind = f'class="best" stroke="{BEST}" stroke-width="3"' if best else f'stroke="{PLAIN}"'
    fill = f'fill="{EXCEEDING}" stroke-dasharray="4 3"' if above else 'fill="white"'
    width, height = BOX
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{width}" height="{height}" rx="6" {fill} {kind}/>'
    for number, line in enumerate(graph.label(state)):
        at = f'x="{x + width / 2:.1f}" y="{y + LINE * (number + 1):.1f}"'
        yield f'<text {at} text-anchor="middle">{escape(_fitting(line))}</text>'


def _fitting(text: str) -> str:
    """Return a text that fits a box: what is in the middle is left out."""
    most = int((BOX[0] - 8) / LETTER)
    return (
        text
        if len(text) <= most
        else f"{text[: most // 2]}\N{HORIZONTAL ELLIPSIS}{text[-(most - most // 2 - 1) :]}"
    )
