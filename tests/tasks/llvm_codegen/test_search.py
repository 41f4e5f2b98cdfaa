"""What the default search finds, function by function, holds in one object, and within the limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.objective import parse_objective
from burnish.core.trace import split_entry
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.programs import load_program
from burnish.llvm.targets import MACHINES
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.search.stages import stage_after
from burnish.tasks.llvm_codegen import TASK
from burnish.tasks.llvm_codegen.actions import ACTIONS, OUTLINE, applies
from burnish.tasks.llvm_codegen.prior_gains import prior_gains
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


@pytest.mark.parametrize("machine", MACHINES)
def test_what_decisions_gained_is_of_decisions_at_functions(machine: str) -> None:
    """For machines without gains of their own, those of x86 that they have remain."""
    prior = prior_gains(machine)
    assert {*prior.gains} < {*ACTIONS} - {*OUTLINE}
    assert all(0 < worth < 10 for worth in prior.gains.values())
    own = prior.gains != prior_gains().gains
    decisions = {*prior.gains, *(text for one in prior.suffixes for text in one)}
    assert all(applies(text, machine) for text in decisions) or not own


def test_hints_are_those_of_the_programs_machine(tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text("int one(int x) { return x * 7; }\n")
    for flags, machine in (((), "X86"), (("--target=thumbv7em-none-eabi",), "ARM")):
        session = TASK.open(load_program(tmp_path / "one.c", flags))
        hints = TASK.hints.for_program(session)
        assert hints.prior_gains == prior_gains(machine).gains and hints.independent_sites
    assert "skip(post-RA-sched)" in hints.prior_gains and "skip(post-RA-sched)" not in TASK.hints.prior_gains
