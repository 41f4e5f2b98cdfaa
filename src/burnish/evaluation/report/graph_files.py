"""Search graphs as files: in graphviz's language, and as pictures laid out by graphviz."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from burnish.core.errors import InputError
from burnish.evaluation.report.search_graph import SearchGraph
from burnish.workers.worker import Worker

BEST = "#D55E00"
EXCEEDING = "#f2f2f2"  # fill colour of states that exceed a limit
SOFT = "#59636f"  # colour of edges beside the tree
LOOK = """\
  nodesep=0.15; ranksep=0.3; fontname="Helvetica"; fontsize=10; labeljust=l;
  node [shape=box, style=rounded, fontname="Helvetica", fontsize=10, margin="0.08,0.04"];
  edge [fontname="Helvetica", fontsize=9, arrowsize=0.6];"""
MOST_POINTS = 720.0  # width of a picture: a page has room for 10 inches
MOST_BESIDE = 5  # most states on a level of a picture
LETTERS = 26  # most letters of an entry in a picture


def dot(graph: SearchGraph) -> str:
    """Return a graph in graphviz's language; states have numbers, and the initial one is s0."""
    return _written(graph.condensed)


def svg(graph: SearchGraph) -> str:
    """Return a graph as a picture: the initial state on top, and a few states on each level below.

    A level has successors of the states above: first the best path's state, then the cheapest traces' states.
    A state is below the entry that leads to it. Levels have fewer states where the picture would be too wide,
    since a picture that a page shrinks has letters that nobody can read.
    """
    condensed = graph.condensed
    worker = Worker()  # graphviz is C code, which may crash and writes to standard error
    try:
        for most in range(MOST_BESIDE, 0, -1):
            shown, more = _picked(condensed, most)
            drawn: str = worker.call(_laid_out, _pictured(shown, more))
            if _width_points(drawn) <= MOST_POINTS:
                break
    finally:
        worker.close()
    return drawn


FORMATS: dict[str, Callable[[SearchGraph], str]] = {".dot": dot, ".svg": svg}


def writer_of(path: Path) -> Callable[[SearchGraph], str]:
    """Return the function that writes a graph to a file with this suffix.

    Raises:
        InputError: the suffix is unknown.
    """
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: expected a name that ends in {' or '.join(FORMATS)}")
    return FORMATS[path.suffix]


def _laid_out(text: str) -> str:
    import pygraphviz

    drawn: bytes = pygraphviz.AGraph(string=text).draw(format="svg", prog="dot")
    return drawn[drawn.index(b"<svg") :].decode()  # no XML declaration, so that a page can contain it


def _width_points(picture: str) -> float:
    found = re.search(r'width="([\d.]+)pt"', picture)
    assert found, "graphviz writes the width"
    return float(found[1])


def _written(graph: SearchGraph) -> str:
    """Return a graph's text with the entries beside the edges."""
    lines = _opening(graph)
    numbers = _numbers(graph)
    for state, name in numbers.items():
        label = _quoted("\n".join(graph.label(state)))
        lines.append(f"  {name} [label={label}{_look(graph, state)}];")
    steps = set(zip(graph.best, graph.best[1:], strict=False))
    tree = _tree(graph)
    for edge, text in graph.edges.items():
        style = "" if edge in tree else ", style=dashed, constraint=false"
        style += _bold(edge in steps)
        lines.append(f"  {numbers[edge[0]]} -> {numbers[edge[1]]} [label={_quoted(text)}{style}];")
    return "\n".join([*lines, "}", ""])


def _pictured(graph: SearchGraph, more: Mapping[str, int]) -> str:
    """Return a graph's text with the entries in their states' boxes, where labels cannot overlap.

    Edges beside the tree have their entries as tooltips. `more` has the counts of left-out states.
    """
    lines = _opening(graph)
    numbers = _numbers(graph)
    parents = graph.parents
    for state, name in numbers.items():
        entry = graph.edges.get((parents.get(state, ""), state), "")
        texts = [_fitting(entry)] if entry else []
        label = _quoted("\n".join([*texts, *graph.label(state)]))
        lines.append(f"  {name} [label={label}, tooltip={_quoted(entry or 'start')}{_look(graph, state)}];")
    steps = set(zip(graph.best, graph.best[1:], strict=False))
    tree = _tree(graph)
    for edge, text in graph.edges.items():
        style = "" if edge in tree else f', style=dashed, constraint=false, color="{SOFT}"'
        style += _bold(edge in steps)
        lines.append(f"  {numbers[edge[0]]} -> {numbers[edge[1]]} [tooltip={_quoted(text)}{style}];")
    for number, (state, count) in enumerate(more.items()):
        lines.append(f'  more{number} [label="{count} more", shape=plaintext];')
        lines.append(f"  {numbers[state]} -> more{number} [style=dotted, arrowhead=none];")
    return "\n".join([*lines, "}", ""])


def _opening(graph: SearchGraph) -> list[str]:
    note = "".join(f"{line}\\l" for line in graph.note.split("; "))
    return ["digraph search {", LOOK, f'  label="{note}";']


def _numbers(graph: SearchGraph) -> dict[str, str]:
    return {state: f"s{number}" for number, state in enumerate(graph.costs)}


def _tree(graph: SearchGraph) -> set[tuple[str, str]]:
    return {(before, after) for after, before in graph.parents.items()}


def _look(graph: SearchGraph, state: str) -> str:
    exceeds = f', style="rounded,dashed,filled", fillcolor="{EXCEEDING}"'
    return (exceeds if graph.exceeded.get(state) else "") + _bold(state in graph.best)


def _bold(best: bool) -> str:
    return f', color="{BEST}", penwidth=3' if best else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _picked(graph: SearchGraph, most: int) -> tuple[SearchGraph, dict[str, int]]:
    """Return a graph with at most so many states on each level.

    Also return the counts of left-out states by a state above.
    """
    children: dict[str, list[str]] = {}
    parents = graph.parents
    for state in graph.costs:  # the states of the cheapest trace come first
        if state in parents:
            children.setdefault(parents[state], []).append(state)
    level, picked, more = [graph.best[0]], {graph.best[0]}, {}
    while level:
        following = [child for state in level for child in children.get(state, ())]
        following.sort(key=lambda state: state not in graph.best)
        level, left_out = following[:most], following[most:]
        if left_out:
            more[parents[left_out[0]]] = len(left_out)
        picked |= set(level)
    costs = {state: cost for state, cost in graph.costs.items() if state in picked}
    edges = {edge: text for edge, text in graph.edges.items() if picked.issuperset(edge)}
    exceeded = {state: above for state, above in graph.exceeded.items() if state in picked}
    return replace(graph, costs=costs, edges=edges, exceeded=exceeded), more


def _fitting(text: str) -> str:
    """Return a text of at most LETTERS letters, shortened in the middle."""
    if len(text) <= LETTERS:
        return text
    return f"{text[: LETTERS // 2]}\N{HORIZONTAL ELLIPSIS}{text[-(LETTERS - LETTERS // 2 - 1) :]}"
