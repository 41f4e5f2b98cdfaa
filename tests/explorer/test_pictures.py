"""Pictures of two states: which blocks are the same, and where graphviz puts them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.diagram import Arrow, Block, Diagram, Drawing
from burnish.explorer.pictures import (
    MOST_LETTERS,
    MOST_LINES,
    Picture,
    as_json,
    cut,
    laid_out,
    merged,
    without,
)

NUMBERS = re.compile(r"(?<=%)\d+\b")


def nothing(text: str, section: str) -> Diagram:
    return Diagram()


NAMED = Drawing("text", nothing)
NUMBERED = Drawing("text", nothing, named=False)

BEFORE = Diagram(
    (
        Block("", "entry", ("a = load", "br %2")),
        Block("2", "2", ("%3 = add %3, 1", "br %4")),
        Block("4", "4", ("store %3", "br %5")),
        Block("5", "5", ("ret %3",)),
    ),
    (Arrow("", "2"), Arrow("2", "4"), Arrow("4", "5")),
)
AFTER = Diagram(
    (
        Block("", "entry", ("br %1",)),
        Block("1", "1", ("%2 = add %2, 1", "br %3")),
        Block("3", "3", ("ret %2",)),
        Block("9", "9", ("trap",)),
    ),
    (Arrow("", "1"), Arrow("1", "3"), Arrow("1", "9")),
)


def kinds(picture: Picture) -> dict[str, str]:
    return {box.title: box.kind for box in picture.boxes}


def curves(picture: Picture) -> set[tuple[str, str, str, str]]:
    titles = [box.title for box in picture.boxes]
    return {(titles[one.source], titles[one.target], one.kind, one.label) for one in picture.curves}


def test_numbered_blocks_are_found_by_their_lines() -> None:
    picture = merged(BEFORE, AFTER, NUMBERED, NUMBERS)
    assert kinds(picture) == {
        "entry": "changed",
        "1": "same",
        "3": "same",
        "9": "added",
        "4": "removed",
    }
    assert curves(picture) == {
        ("entry", "1", "same", ""),
        ("1", "3", "added", ""),
        ("1", "9", "added", ""),
        ("1", "4", "removed", ""),
        ("4", "3", "removed", ""),
    }
    entry = picture.boxes[0]
    assert [(line.kind, line.text) for line in entry.lines] == [("removed", "a = load"), ("same", "br %1")]


def test_named_blocks_are_found_by_their_names() -> None:
    first = Diagram((Block("f", "f", ("x",)), Block("g", "g"), Block("old", "old")), (Arrow("f", "g", "2"),))
    second = Diagram((Block("f", "f", ("y",)), Block("g", "g"), Block("new", "new")), (Arrow("f", "g"),))
    picture = merged(first, second, NAMED)
    assert kinds(picture) == {"f": "changed", "g": "same", "new": "added", "old": "removed"}
    assert curves(picture) == {("f", "g", "changed", "2 → 1")}


def test_operand_that_is_another_value_changes_its_block() -> None:
    first = Diagram((Block("a", "a", ("%1 = x", "%2 = y", "z %1 %2")), Block("b", "b", ("use %1",))))
    second = Diagram((Block("a", "a", ("%1 = x", "%2 = y", "z %1 %2")), Block("b", "b", ("use %2",))))
    assert kinds(merged(first, second, NUMBERED, NUMBERS)) == {"a": "same", "b": "changed"}


def test_state_without_the_function_is_all_added_or_all_removed() -> None:
    for pair, kind in (((Diagram(), AFTER), "added"), ((BEFORE, Diagram()), "removed")):
        picture = merged(*pair, NUMBERED, NUMBERS)
        assert {box.kind for box in picture.boxes} == {one.kind for one in picture.curves} == {kind}


def test_long_texts_are_cut() -> None:
    lines = tuple(f"line {i}" for i in range(100))
    (box,) = merged(Diagram(), Diagram((Block("f", "f", lines),)), NAMED).boxes
    assert len(box.lines) == MOST_LINES + 1
    assert box.lines[-1].stands_for == 100 - MOST_LINES


def test_long_titles_are_cut_in_boxes() -> None:
    title = "std::map<" + 100 * "x" + ">"
    picture = laid_out(merged(Diagram(), Diagram((Block("f", title),)), NAMED))
    (box,) = as_json(picture)["boxes"]
    assert box["title"] == title
    assert box["text"] == title[: MOST_LETTERS - 1] + "…"
    assert box["width"] < 400


def test_large_pictures_keep_what_changed_and_its_neighbours() -> None:
    names = [f"f{i:02}" for i in range(20)]
    chain = tuple(Arrow(a, b) for a, b in pairwise(names))
    first = Diagram(tuple(Block(name, name) for name in names), chain)
    changed = tuple(Block(name, name, ("x",) if name == "f15" else ()) for name in names)
    whole = merged(first, Diagram(changed, chain), NAMED)
    picture = cut(whole, 5)
    assert [box.title for box in picture.boxes] == ["f00", "f01", "f14", "f15", "f16"]
    assert picture.left_out == 15
    assert curves(picture) == {
        ("f00", "f01", "same", ""),
        ("f14", "f15", "same", ""),
        ("f15", "f16", "same", ""),
    }
    assert cut(whole, 20) == whole


def test_blocks_left_out_take_their_arrows_along() -> None:
    found = without(BEFORE, {"4"})
    assert [block.name for block in found.blocks] == ["", "2", "5"]
    assert found.arrows == (Arrow("", "2"),)


BLOCKS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@st.composite
def diagrams(draw: st.DrawFn) -> Diagram:
    names = draw(BLOCKS)
    texts = st.lists(st.sampled_from(("%1 = x", "%2 = y", "use %1", "br")), max_size=4)
    ends = st.sampled_from(names) if names else st.nothing()
    pairs = draw(st.lists(st.tuples(ends, ends, st.sampled_from(("", "2"))), max_size=8)) if names else []
    return Diagram(
        tuple(Block(name, f'"{name}\\n', tuple(draw(texts))) for name in names),
        tuple(Arrow(*pair) for pair in pairs),
    )


@given(diagrams(), diagrams(), st.booleans())
def test_each_block_and_arrow_of_both_diagrams_is_in_the_picture(
    first: Diagram, second: Diagram, named: bool
) -> None:
    picture = merged(first, second, NAMED if named else NUMBERED, NUMBERS)
    count = {kind: sum(box.kind == kind for box in picture.boxes) for kind in ("same", "changed")}
    both = count["same"] + count["changed"]
    assert sum(box.kind == "removed" for box in picture.boxes) + both == len(first.blocks)
    assert sum(box.kind == "added" for box in picture.boxes) + both == len(second.blocks)
    pairs = [{(one.source, one.target) for one in diagram.arrows} for diagram in (first, second)]
    gone = sum(one.kind == "removed" for one in picture.curves)
    assert len(picture.curves) - gone == len(pairs[1])
    assert len(picture.curves) - sum(one.kind == "added" for one in picture.curves) == len(pairs[0])


@pytest.mark.parametrize("first", [BEFORE, Diagram()])
def test_graphviz_places_boxes_apart_and_arrows_between_them(first: Diagram) -> None:
    picture = laid_out(merged(first, AFTER, NUMBERED, NUMBERS))
    for i, box in enumerate(picture.boxes):
        assert box.width / 2 <= box.x <= picture.width - box.width / 2 + 1
        assert 0 <= box.y <= picture.height
        for other in picture.boxes[:i]:
            apart = (
                abs(box.x - other.x) >= (box.width + other.width) / 2 or abs(box.y - other.y) >= box.height
            )
            assert apart, (box.title, other.title)
    for curve in picture.curves:
        assert len(curve.points) % 3 == 1
        for end, (x, y) in ((curve.source, curve.points[0]), (curve.target, curve.points[-1])):
            box = picture.boxes[end]
            assert abs(x - box.x) <= box.width / 2 + 2
            assert abs(y - box.y) <= box.height / 2 + 2
    entry, last = picture.boxes[0], picture.boxes[2]
    assert entry.y < last.y


def test_titles_of_programs_are_no_graphviz() -> None:
    strange = Diagram((Block("a", 'x"]; b -> "\\N<b>', ()), Block("b", "")), (Arrow("a", "b", '"\\'),))
    picture = laid_out(merged(strange, strange, NAMED))
    assert len(picture.boxes) == 2
    assert picture.boxes[0].title == 'x"]; b -> "\\N<b>'
