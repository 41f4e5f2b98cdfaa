"""Search graphs: small ones by hand, and what is written of them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.evaluation.report.graph_files import BEST, dot, svg, writer_of
from burnish.evaluation.report.search_graph import (
    Recorder,
    SearchGraph,
    _figure_above,
    graph_of,
)
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.search.space import Evaluation
from burnish.tasks.loop_nests import TASK as NESTS
from burnish.tasks.loop_nests.families import find
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls
from tests.core.counting_task import TASK as COUNTING
from tests.core.counting_task import counters
from tests.core.splitting_task import TASK as SPLITTING
from tests.core.splitting_task import pieces

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"s\d+")
MOST_POINTS = 720  # the width of a page
NODE = re.compile(r'  (s\d+) \[label="(.*?)"(.*)\];')
EDGE = re.compile(r'  (s\d+) -> (s\d+) \[label="(.*?)"(.*)\];')

FOUR = [
    Evaluation((), 5.0),
    Evaluation(("halve",), 3.0, ("halve",)),
    Evaluation(("halve", "subtract(1)"), 2.0, ("halve", "subtract(1)")),
    Evaluation(("subtract(3)",), 2.0, ("subtract(3)",)),  # 1, as the one before
    Evaluation(
        ("add(1)", "subtract(1)", "subtract(3)", "add(1)"),
        3.0,
        ("add(1)", "subtract(1)", "subtract(3)", "add(1)"),
    ),
]


def graph(evaluations: list[Evaluation] = FOUR, most: int = 80) -> SearchGraph:
    return graph_of(COUNTING.open(counters("a=4")), evaluations, COUNTING.objective(None), 5.0, most)


def nodes(text: str) -> dict[str, str]:
    return {name: label for name, label, _ in NODE.findall(text)}


def test_states_are_known_by_their_digests() -> None:
    """4, 2 and 5 are each reached once more, by another trace; 2 was measured by two, at the same cost."""
    found = graph()
    assert found.costs == {"a=4": 5, "a=1": 2, "a=2": 3, "a=5": 6}
    assert found.edges == {
        ("a=4", "a=1"): "subtract(3)",
        ("a=4", "a=2"): "halve",
        ("a=2", "a=1"): "subtract(1)",
        ("a=4", "a=5"): "add(1)",
        ("a=5", "a=4"): "subtract(1)",
        ("a=1", "a=2"): "add(1)",
    }
    assert found.best == ("a=4", "a=1")  # the shorter of two that cost the same


def test_best_way_has_no_loops() -> None:
    way = ("add(1)", "subtract(1)", "subtract(3)")
    assert graph([Evaluation(way, 2.0, way)]).best == ("a=4", "a=1")


def test_large_graph_is_cut_to_the_best_states() -> None:
    found = graph(most=2)
    assert found.costs == {"a=4": 5, "a=1": 2}
    more = "4 more evaluated traces are not shown"
    assert found.note.endswith(more)
    assert all(line in dot(found) for line in found.note.split("; "))
    assert more in svg(found)
    assert "more" not in graph().note


def test_dot_has_each_state_and_each_entry_once() -> None:
    text = dot(graph([item for item in FOUR if item.path != ("halve",)][:3]))
    assert nodes(text) == {"s0": "5 units (+0.0 %)", "s1": "2 units (-60.0 %)", "s2": "3 units (-40.0 %)"}
    assert {(one, other): label for one, other, label, _ in EDGE.findall(text)} == {
        ("s0", "s1"): "subtract(3)",
        ("s0", "s2"): "halve",
        ("s2", "s1"): "subtract(1)",
    }
    assert [edge[:2] for edge in EDGE.findall(text) if BEST in edge[3]] == [("s0", "s1")]
    assert [name for name, _, rest in NODE.findall(text) if BEST in rest] == ["s0", "s1"]


def test_dot_quotes_what_sites_are_called() -> None:
    found = SearchGraph({"x": 1.0, "y": 2.0}, {("x", "y"): 'operator""_s: inline'}, ("x",), "B", 1.0)
    assert 'label="operator\\"\\"_s: inline"' in dot(found)


def drawn(found: SearchGraph) -> tuple[ElementTree.Element, dict[str, list[ElementTree.Element]]]:
    """Return a picture, and its nodes and edges by their names: s0, s0->s1."""
    root = ElementTree.fromstring(svg(found))
    parts: dict[str, list[ElementTree.Element]] = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("class") in ("node", "edge"):
            title = group.find(f"{SVG}title")
            assert title is not None and title.text
            parts.setdefault(title.text, []).append(group)
    return root, parts


def texts(group: ElementTree.Element) -> list[str]:
    """Return the visible lines of a part of a picture."""
    return [line.text or "" for line in group.iter(f"{SVG}text")]


def test_svg_has_the_best_way() -> None:
    _, parts = drawn(graph())
    best = {
        name
        for name, found in parts.items()
        if BEST.lower() in ElementTree.tostring(found[0]).decode().lower()
    }
    assert best == {"s0", "s1", "s0->s1"}
    assert len(parts) == 4 + 6


def test_svg_has_each_entry_in_the_box_of_its_state() -> None:
    _, parts = drawn(graph())
    boxes = {name: texts(found[0]) for name, found in parts.items() if NUMBER.fullmatch(name)}
    assert boxes == {
        "s0": ["5 units (+0.0 %)"],
        "s1": ["subtract(3)", "2 units (-60.0 %)"],
        "s2": ["halve", "3 units (-40.0 %)"],
        "s3": ["add(1)", "6 units (+20.0 %)"],
    }
    edges = [texts(found[0]) for name, found in parts.items() if not NUMBER.fullmatch(name)]
    assert not any(edges)  # graphviz places edges' labels one above another


def test_wide_picture_has_fewer_states_and_letters_of_the_same_size() -> None:
    costs, edges = {"root": 9.0}, {}
    for one in "abcde":
        costs[one] = 5.0
        edges["root", one] = f"a-pass-with-a-long-name-{one}<option=1000>"
        for other in "12345":
            costs[one + other] = 4.0
            edges[one, one + other] = f"another-pass-with-a-long-name-{other}<option=1000>"
    picture, parts = drawn(SearchGraph(costs, edges, ("root", "a", "a1"), "instructions", 9.0))
    assert float(picture.attrib["width"].removesuffix("pt")) <= MOST_POINTS
    (whole,) = (group for group in picture.iter(f"{SVG}g") if group.get("class") == "graph")
    assert "scale(1 1)" in whole.attrib["transform"]
    assert {"s0", "s1", "s2", "s3"} <= parts.keys()


def test_value_above_a_limit_is_written_above_it() -> None:
    """Three digits make 1.00 of 1.0042, and 1,000 of 1000.3."""
    for value, limit, written in [(1.0042, 1.0, "1.004"), (1000.3, 1000.0, "1000.3"), (1.91, 1.0, "1.91")]:
        found = _figure_above(value, limit)
        assert (found, float(found) > limit) == (written, True)


@pytest.mark.parametrize(
    ("task", "program"),
    [
        (COUNTING, counters("a=24 b=7")),
        (SPLITTING, pieces("3 2")),
        (ASKING, calls("main 4: f f g; f 2: h; g 6: h; h 5:")),
        (NESTS, find("matmul:8x8x8").program()),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
@pytest.mark.usefixtures("nothing_left")
def test_search_on_any_task_is_drawn(task: Task, program: Program) -> None:
    recorder = Recorder()
    problem = Problem(task, program)
    result = search(
        problem,
        Budget(evaluations=12, workers=1),
        method="genetic",
        progress=lambda now: recorder(now.latest),
    )
    session = problem.open()
    found = graph_of(session, recorder.evaluations.values(), problem.goal, 1.0)
    assert found.costs[found.best[-1]] == result.cost
    assert found.left_out == 0
    session.shutdown()
    assert len(nodes(dot(found))) == len(found.condensed.costs)
    picture, parts = drawn(found)
    states = [name for name in parts if NUMBER.fullmatch(name)]
    assert 1 < len(states) <= len(found.condensed.costs)
    assert float(picture.attrib["width"].removesuffix("pt")) <= MOST_POINTS


def test_costs_are_the_objectives_own_and_limits_are_said_apart() -> None:
    """A search counts 2 * 5 * (5 / 2) ** 2 for the state that is opened; that is no number of units."""
    found = graph_of(COUNTING.open(counters("a=4")), FOUR, COUNTING.objective("total while largest<=2"), 5.0)
    assert found.costs == {"a=4": 5, "a=1": 2, "a=2": 3, "a=5": 6}
    assert found.label("a=4") == ("5 units (+0.0 %)", "largest 5 > 2")
    assert found.label("a=1") == ("2 units (-60.0 %)",)
    assert "dashed: exceeds a limit" in found.note


def test_states_that_say_nothing_new_are_joined() -> None:
    """a -> b -> c -> d: b costs what a does, c is not known; one edge is left."""
    chain = {("a", "b"): "one", ("b", "c"): "two", ("c", "d"): "three"}
    costs = {"a": 4.0, "b": 4.0, "c": math.nan, "d": 2.0}
    found = SearchGraph(costs, chain, ("a", "b", "c", "d"), "bytes", 4.0).condensed
    assert found.edges == {("a", "d"): "one, two, three"}
    assert (found.costs, found.best) == ({"a": 4.0, "d": 2.0}, ("a", "d"))


def test_a_level_has_few_states() -> None:
    leaves = {f"l{number}": 10.0 + number for number in range(30)}
    edges = {("root", name): f"pass{name}" for name in leaves}
    picture, parts = drawn(SearchGraph({"root": 50.0} | leaves, edges, ("root", "l0"), "bytes", 50.0))
    assert "25 more" in "".join(picture.itertext())
    assert {name for name in parts if NUMBER.fullmatch(name)} == {"s0", "s1", "s2", "s3", "s4", "s5"}
    assert float(picture.attrib["width"].removesuffix("pt")) <= MOST_POINTS


def test_other_formats_are_refused() -> None:
    with pytest.raises(InputError, match=r"graph\.png: expected a name that ends in \.dot or \.svg"):
        writer_of(Path("graph.png"))
