"""Actions and their texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.action import Action
from burnish.tasks.llvm_passes import TASK
from tests.core.counting_task import ACTIONS

BY_HAND = {
    "gvn": Action("gvn"),
    "gvn<no-load-pre>": Action("gvn", ("no-load-pre",), "<>"),
    "clang<Oz;inline-threshold=25>": Action("clang", ("Oz", "inline-threshold=25"), "<>"),
    "tile(i, 32)": Action("tile", ("i", "32")),
    "allocate(7)": Action("allocate", ("7",)),
    "f<a(b, c);d>": Action("f", ("a(b, c)", "d"), "<>"),
    "action 3": Action("action 3"),
    "open<": Action("open<"),  # no parameters: it is not closed
}


@pytest.mark.parametrize("text", BY_HAND)
def test_text_is_read_by_hand(text: str) -> None:
    assert Action.parse(text) == BY_HAND[text]
    assert str(BY_HAND[text]) == text


@given(st.one_of(st.text(), st.from_regex(r"\w+(<[\w;=<>(), ]*>|\([\w, ;<>()]*\))", fullmatch=True)))
def test_text_is_identity(text: str) -> None:
    assert str(Action.parse(text)) == text


def test_kinds_of_tasks_are_plain() -> None:
    for text in (*TASK.actions, *ACTIONS):
        action = Action.parse(text)
        assert (action.kind == text) == (not action.parameters)
        assert not set(action.kind) & set("<>();, ")
