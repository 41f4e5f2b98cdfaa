"""Each task says in one line what each of its actions does."""

from __future__ import annotations

import pytest

from burnish.core.action import Action
from burnish.core.registry import load_task, task_names

MOST = 120  # characters: a line of a model's prompt, and of a tooltip


@pytest.mark.parametrize("name", task_names())
def test_every_action_has_a_short_description_and_nothing_else_has_one(name: str) -> None:
    task = load_task(name)
    wrong = {text: task.describe(text) for text in task.actions if not 0 < len(task.describe(text)) < MOST}
    assert not wrong
    assert all(task.describe(text)[0].isupper() and "{" not in task.describe(text) for text in task.actions)
    known = {*task.actions, *(Action.parse(text).kind for text in task.actions)}
    assert not set(task.descriptions) - known


def test_parameters_are_in_the_text() -> None:
    assert "steps of 16" in load_task("mlir_schedules").describe("tile(0, 16)")
    assert "8 iterations" in load_task("loop_nests").describe("split(8)")


def test_a_staged_task_describes_the_actions_of_all_stages() -> None:
    task = load_task("llvm_inlining_passes_and_codegen")
    answer, as_pass = (load_task(name).describe("inline") for name in ("llvm_inlining", "llvm_passes"))
    assert task.describe("inline") == f"{answer}; later: {as_pass}"
    assert "llvm_codegen" in task.describe("begin(llvm_codegen)")
