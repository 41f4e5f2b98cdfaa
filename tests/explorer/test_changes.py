"""Differences of two states: what a reader sees, and that they lead from one text to the other."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.listing import Listing, Section, whole
from burnish.explorer.changes import Line, applied, changes, compare, section_changes
from burnish.llvm.modules.listing import LISTING, demangle, sections
from burnish.tasks.llvm_passes import TASK
from tests.sources import program

NUMBERS = re.compile(r"(?<=%)\d+\b|^\d+(?=:)", re.MULTILINE)

BEFORE = """\
; ModuleID = 'input'
source_filename = "f.c"

@table = constant i32 3

; Function Attrs: nounwind
define i32 @_Z3addii(i32 %0, i32 %1) #0 !dbg !4 {
  %3 = alloca i32, align 4
  store i32 %0, ptr %3, align 4, !tbaa !5
  %4 = load i32, ptr %3, align 4
    #dbg_value(i32 %4, !9, !DIExpression(), !10)
  %5 = add i32 %4, %1
  %6 = mul i32 %5, 7
  br label %7

7:                                                ; preds = %2
  %8 = sub i32 %6, %1
  ret i32 %8
}

define void @idle() {
  ret void
}

attributes #0 = { nounwind }

!4 = !{i32 1}
"""

AFTER = """\
; ModuleID = 'input'
source_filename = "f.c"

@table = constant i32 3

define i32 @_Z3addii(i32 %0, i32 %1) #1 !dbg !4 {
  %3 = add i32 %0, %1
  %4 = mul i32 %3, 8
  br label %5

5:                                                ; preds = %2
  %6 = sub i32 %4, %1
  ret i32 %6
}

define void @idle() {
  ret void
}

attributes #1 = { nounwind willreturn }

!4 = !{i32 2}
"""


def marked(line: Line) -> str:
    """Return a line as diff shows it, with the marks in brackets."""
    start, end = line.marked
    text = f"{line.text[:start]}[{line.text[start:end]}]{line.text[end:]}" if end else line.text
    sign = {"same": " ", "removed": "-", "added": "+"}[line.kind]
    return f"{sign}{text}" if line.text else f"{line.stands_for} more"


def test_numbers_metadata_and_debug_records_are_no_changes() -> None:
    found = changes(BEFORE, AFTER, LISTING)
    assert found.unchanged == 2  # the table and idle
    (change,) = found.sections
    assert (change.name, change.title, change.kind) == ("_Z3addii", "add(int, int)", "changed")
    assert [marked(line) for line in change.lines] == [
        " define i32 @add(int, int)(i32 %0, i32 %1) {",
        "-  %3 = alloca i32, align 4",
        "-  store i32 %0, ptr %3, align 4",
        "-  %4 = load i32, ptr %3, align 4",
        "-  %5 = add i32 %[4], %1",
        "-  %6 = mul i32 %5, [7]",
        "+  %3 = add i32 %[0], %1",
        "+  %4 = mul i32 %3, [8]",
        "   br label %5",
        " 5:",
        "   %6 = sub i32 %4, %1",
        "2 more",
    ]


def test_details_are_compared_on_request() -> None:
    found = changes(BEFORE, AFTER, LISTING, details=True)
    assert [change.name for change in found.sections] == ["_Z3addii", ""]
    rest = {line.text for line in found.sections[-1].lines if line.kind == "added"}
    assert "!4 = !{i32 2}" in rest


def test_functions_that_come_and_go() -> None:
    other = AFTER.replace("@idle", "@busy")
    found = changes(AFTER, other, LISTING)
    assert [(change.name, change.kind, change.added, change.removed) for change in found.sections] == [
        ("busy", "added", 3, 0),
        ("idle", "removed", 0, 3),
    ]


def test_operand_that_is_another_value_is_a_change() -> None:
    before = Section("f", "f", ("%1 = load", "%2 = load", "use %1", "use %1", "use %2", "use %2"))
    after = Section("f", "f", ("%1 = load", "%2 = load", "use %1", "use %1", "use %2", "use %1"))
    change = compare(before, after, NUMBERS)
    assert change
    assert [marked(line) for line in change.lines[-2:]] == ["-use %[2]", "+use %[1]"]


def test_equal_texts_have_no_changes() -> None:
    assert changes(AFTER, AFTER, LISTING).sections == ()
    assert changes(AFTER, AFTER, LISTING).unchanged == 3


def test_text_without_sections_is_one() -> None:
    found = changes("loop i\n  loop j\n", "loop j\n  loop i\n", Listing("tree", whole))
    (change,) = found.sections
    assert (change.title, change.added, change.removed) == ("program", 2, 2)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("_ZN3foo3barEi", "foo::bar(int)"), ("main", "main"), ("_Znot", "_Znot"), ("Z3addii", "Z3addii")],
)
def test_names_are_demangled(name: str, shown: str) -> None:
    assert demangle(name) == shown


def test_quoted_names_of_functions_are_those_of_sites() -> None:
    text = 'define void @"a \\22b\\22"(ptr %0) {\n}\n'
    assert sections(text, details=False)[1].name == 'a "b"'


WORDS = ("load", "store", "add", "%1", "%2", "%3", "%14", "x")
LINES = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=0, max_size=4).map(" ".join) | st.sampled_from(("1:", "2:")),
    max_size=30,
)


@given(LINES, LINES, st.booleans())
def test_applied_difference_gives_the_second_text(first: list[str], second: list[str], numbers: bool) -> None:
    pattern = NUMBERS if numbers else None
    change = compare(Section("f", "f", tuple(first)), Section("f", "f", tuple(second)), pattern)
    if change:
        assert applied(first, change, pattern) == second
        assert change.added == sum(line.kind == "added" for line in change.lines)


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_applied_difference_of_passes_gives_the_second_module(seed: int, steps: int) -> None:
    rng = random.Random(seed)
    session = TASK.open(program("matrix.c"))
    session.replay(["sroa<modify-cfg>"] if rng.random() < 0.5 else [])
    first = str(session.observe("ir"))
    session.replay(
        rng.choices(
            ["simplifycfg", "gvn", "instcombine<no-verify-fixpoint>", "early-cse<memssa>", "sink"], k=steps
        )
    )
    second = str(session.observe("ir"))
    before, after = ({part.name: part for part in sections(text, False)} for text in (first, second))
    found = changes(first, second, LISTING)
    for change in found.sections:
        if change.kind == "changed":
            lines = applied(before[change.name].lines, change, LISTING.renumbered)
            assert lines == list(after[change.name].lines)
    assert len(found.sections) + found.unchanged == len(before.keys() | after.keys())


LIBRARY = "define void @_ZNSt6vectorIiE4sizeEv() {\n  ret void\n}\n"


def test_functions_of_the_library_are_counted_and_hidden_on_request() -> None:
    found = changes(AFTER, BEFORE + LIBRARY, LISTING, library=False)
    assert [change.name for change in found.sections] == ["_Z3addii"]
    assert (found.unchanged, found.hidden) == (2, 1)
    assert changes(AFTER, AFTER + LIBRARY, LISTING).sections[0].title == "std::vector<int>::size()"
    assert changes(AFTER + LIBRARY, AFTER + LIBRARY, LISTING, library=False).hidden == 1


def test_unchanged_line_has_the_text_of_both_states() -> None:
    (change,) = changes(BEFORE, AFTER, LISTING).sections
    same = {line.text: line.before for line in change.lines if line.kind == "same" and line.text}
    assert same["5:"] == "7:"
    assert same["  %6 = sub i32 %4, %1"] == "  %8 = sub i32 %6, %1"
    assert same["define i32 @add(int, int)(i32 %0, i32 %1) {"] == ""


def test_lines_of_some_sections_are_compared_and_the_others_are_named() -> None:
    def sections(*bodies: str) -> list[Section]:
        return [Section(name, name, (line,)) for name, line in zip("fghik", bodies, strict=False)]

    first = sections("ret 1", "ret 2", "ret %3", "ret 4", "ret 5")
    second = sections("ret 2", "ret 3", "ret %4", "ret 4")
    whole, part = (section_changes(first, second, LISTING.renumbered, most=most) for most in (None, 1))
    names = [("f", "changed"), ("g", "changed"), ("k", "removed")]
    assert [(one.name, one.kind) for one in part.sections] == names
    assert [(one.name, one.kind) for one in whole.sections] == names
    assert part.unchanged == whole.unchanged == 2  # in h, only a number differs
    assert [one.compared for one in part.sections] == [True, False, True]
    assert part.sections[0] == whole.sections[0]
