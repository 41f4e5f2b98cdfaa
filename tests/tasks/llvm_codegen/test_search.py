"""What the default search finds, function by function, holds in one object, and within the limits."""

from __future__ import annotations

from burnish.core.objective import parse_objective
from burnish.core.trace import split_entry
from burnish.llvm.corpora.kernels import load_kernel
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.search.stages import stage_after
from burnish.tasks.llvm_codegen import TASK
from burnish.tasks.llvm_codegen.actions import ACTIONS, OUTLINE
from burnish.tasks.llvm_codegen.prior_gains import PRIOR_GAINS
from burnish.tasks.llvm_passes_and_codegen import TASK as STAGED

BUDGET = Budget(evaluations=26, workers=1)


def test_what_functions_keep_is_one_object() -> None:
    source = load_kernel("regex", ["small"])
    goal = TASK.goal("loaded-bytes", {})
    assert [limit.objective for limit in parse_objective(goal).limits] == [
        "slowdown",
        "code-growth",
        "linked-growth",
    ]
    found = search(Problem(TASK, source, goal), BUDGET)
    session = TASK.open(source)
    before, expected = session.measure("loaded-bytes"), session.site_costs("loaded-bytes")
    session.replay(found.trace)
    assert session.measure(goal) == session.measure("loaded-bytes") == found.cost < 0.99 * before
    assert session.measure("slowdown") <= 1.05 and session.measure("code-growth") <= 1
    assert len({split_entry(text)[0] for text in found.trace}) > 2
    gained = sum(expected[name] - cost for name, cost in session.site_costs("loaded-bytes").items())
    assert abs(gained - (before - found.cost)) <= 16  # but for alignment
    assert search(Problem(TASK, source, goal), BUDGET).trace == found.trace


def test_it_goes_on_behind_passes() -> None:
    source = load_kernel("json", ["small"])
    task = stage_after(STAGED, ("clang<Oz>", "no-jump-tables"))
    before = task.open(source).measure("loaded-bytes")
    found = search(Problem(task, source, "loaded-bytes"), BUDGET)
    assert found.cost < 0.99 * before


def test_what_actions_were_worth_is_of_actions_at_functions() -> None:
    assert {*PRIOR_GAINS} < {*ACTIONS} - {*OUTLINE}
    assert all(0 < worth < 1 for worth in PRIOR_GAINS.values())
