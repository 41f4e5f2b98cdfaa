"""Search graphs as files: in graphviz's language, and as pictures laid out by graphviz."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from burnish.core.errors import InputError
from burnish.evaluation.report.search_graph import SearchGraph
from burnish.workers.worker import Worker

BEST = "#D55E00"
EXCEEDING = "#f2f2f2"  # fill colour of states that exceed a limit
LOOK = """\
  size="10,60"; nodesep=0.15; ranksep=0.4; fontname="Helvetica"; fontsize=10; labeljust=l;
  node [shape=box, style=rounded, fontname="Helvetica", fontsize=10, margin="0.08,0.04"];
  edge [fontname="Helvetica", fontsize=9, arrowsize=0.6];"""  # a page has room for 10 inches
MOST_BESIDE = 5  # most states on a level of a picture
LETTERS = 26  # most letters in a line of a picture


def dot(graph: SearchGraph) -> str:
    """Return a graph in graphviz's language; states have numbers, and the initial one is s0."""
    return _written(graph.condensed)


def svg(graph: SearchGraph) -> str:
    """Return a graph as a picture: the initial state on top, and a few states on each level below.

    A level has successors of the states above: first the best path's state, then the cheapest traces' states.
    """
    shown, more = _picked(graph.condensed)
    worker = Worker()  # graphviz is C code, which may crash and writes to standard error
    try:
        drawn: str = worker.call(_laid_out, _written(shown, LETTERS, more))
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


def _written(graph: SearchGraph, letters: int | None = None, more: Mapping[str, int] | None = None) -> str:
    """Return a graph's text, with lines of so many letters and the counts of left-out states."""
    numbers = {state: f"s{number}" for number, state in enumerate(graph.costs)}
    note = "".join(f"{line}\\l" for line in graph.note.split("; "))
    lines = ["digraph search {", LOOK, f'  label="{note}";']
    for state, name in numbers.items():
        label = "\n".join(_fitting(line, letters) for line in graph.label(state))
        style = (
            f', style="rounded,dashed,filled", fillcolor="{EXCEEDING}"' if graph.exceeded.get(state) else ""
        )
        lines.append(f"  {name} [label={_quoted(label)}{style}{_bold(state in graph.best)}];")
    steps = set(zip(graph.best, graph.best[1:], strict=False))
    tree = {(before, after) for after, before in graph.parents.items()}
    for edge, text in graph.edges.items():
        style = "" if edge in tree else ", style=dashed, constraint=false"
        if letters:
            style = f", tooltip={_quoted(text)}{style}"
        label = f"label={_quoted(_fitting(text, letters))}"
        lines.append(f"  {numbers[edge[0]]} -> {numbers[edge[1]]} [{label}{style}{_bold(edge in steps)}];")
    for number, (state, count) in enumerate((more or {}).items()):
        lines.append(f'  more{number} [label="{count} more", shape=plaintext];')
        lines.append(f"  {numbers[state]} -> more{number} [style=dotted, arrowhead=none];")
    return "\n".join([*lines, "}", ""])


def _bold(best: bool) -> str:
    return f', color="{BEST}", penwidth=3' if best else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _picked(graph: SearchGraph) -> tuple[SearchGraph, dict[str, int]]:
    """Return a graph with few states on each level, and the counts of left-out states by a state above."""
    children: dict[str, list[str]] = {}
    parents = graph.parents
    for state in graph.costs:  # the states of the cheapest trace come first
        if state in parents:
            children.setdefault(parents[state], []).append(state)
    level, picked, more = [graph.best[0]], {graph.best[0]}, {}
    while level:
        following = [child for state in level for child in children.get(state, ())]
        following.sort(key=lambda state: state not in graph.best)
        level, left_out = following[:MOST_BESIDE], following[MOST_BESIDE:]
        if left_out:
            more[parents[left_out[0]]] = len(left_out)
        picked |= set(level)
    costs = {state: cost for state, cost in graph.costs.items() if state in picked}
    edges = {edge: text for edge, text in graph.edges.items() if picked.issuperset(edge)}
    return replace(graph, costs=costs, edges=edges), more


def _fitting(text: str, most: int | None) -> str:
    """Return a text of at most so many letters, shortened in the middle."""
    if most is None or len(text) <= most:
        return text
    return f"{text[: most // 2]}\N{HORIZONTAL ELLIPSIS}{text[-(most - most // 2 - 1) :]}"
