"""Sites alone: cheaper to try, counted together, and believed when the whole was measured."""

from __future__ import annotations

import importlib
import math
import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from burnish.core.program import Program
from burnish.core.session import Part
from burnish.core.task import SearchHints, Task
from burnish.core.trace import Trace, split_entry
from burnish.search import SEARCHES, Budget, Progress, search
from burnish.search.evaluator import Evaluator
from burnish.search.partwise import partwise
from burnish.search.problem import Problem
from burnish.search.run import Method, run
from burnish.search.space import NOT_TRIED, Evaluation, SearchSpace, SiteProposals, SiteTrials, Trial
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import GIB, Limits
from tests.core.counting_task import TASK as COUNTING
from tests.core.counting_task import CountingSession, counters
from tests.search.test_searches import told
from tests.sources import program as compiled

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
PROGRAM = counters("a=640 b=77 c=77")


def at_sites(
    task: Task, base: Trace, trials: list[Trial], most: int | None = None, workers: int = 2
) -> tuple[list[Evaluation], Evaluator]:
    evaluator = Evaluator(Problem(task, PROGRAM, "total", limits=LIMITS), workers=workers)
    batch = SiteTrials(base, trials)
    try:
        assert list(evaluator.evaluate(batch, most=most, end=None)) == []
        return evaluator.known(batch), evaluator
    finally:
        evaluator.close()


@pytest.mark.parametrize("base", [(), ("halve",)])
def test_cost_is_the_difference_to_the_site_before(base: Trace) -> None:
    trials = [Trial("a", ("halve",)), Trial("a", ("halve", "halve")), Trial("b", ("subtract(1)",))]
    found, _ = at_sites(COUNTING, base, trials)
    begin = 320 if base else 640
    assert [item.cost for item in found] == [-begin / 2, -3 * begin / 4, -1]
    assert [item.trace for item in found] == [trial.suffix for trial in trials]


def test_equal_sites_are_tried_once() -> None:
    found, evaluator = at_sites(COUNTING, (), [Trial(site, ("subtract(3)",)) for site in "abc"])
    assert [item.cost for item in found] == [-3, -3, -3]
    assert [item.trace for item in found] == [("subtract(3)",)] * 3
    assert evaluator.trials == 2


FOUR = [Trial("a", ("halve",)), Trial("a", ("subtract(1)",)), Trial("a", ("subtract(3)",))]
FOUR.append(Trial("b", ("subtract(1)",)))


def test_all_sites_once_are_one_evaluation() -> None:
    for count, evaluations in ((2, 0), (3, 1), (4, 1)):
        assert at_sites(COUNTING, (), FOUR[:count])[1].evaluations == evaluations


def test_evaluation_is_left_for_what_is_joined() -> None:
    found, evaluator = at_sites(COUNTING, (), FOUR, most=2)
    assert [item.error for item in found] == ["", "", "", NOT_TRIED]
    assert evaluator.evaluations == 1
    assert all(item.error == NOT_TRIED for item in at_sites(COUNTING, (), FOUR, most=1)[0])


def test_site_that_cannot_be_isolated_is_said_to_be_so() -> None:
    found, evaluator = at_sites(COUNTING, (), [Trial("none", ("halve",)), Trial("a", ("halve",))])
    assert [item.error for item in found] == ["the site cannot be isolated", ""]
    assert evaluator.trials == 1


class Fragile(CountingSession):
    """Whose parts die of an action."""

    def __init__(self, program: Program, fails: bool = False) -> None:
        super().__init__(program)
        self.fails = fails

    def apply(self, action: int, site: str = "") -> bool:
        if self.fails and self.actions[action] == "subtract(3)":
            os._exit(3)
        return super().apply(action, site)

    def fork(self) -> Fragile:
        copy = Fragile(Program("", "counters", self.digest().encode()), self.fails)
        copy.trace = list(self.trace)
        return copy

    def part(self, site: str, objective: str) -> Part | None:
        part = super().part(site, objective)
        return part and replace(part, open=partial(Fragile, fails=True))


FRAGILE = replace(COUNTING, open=Fragile)


@pytest.mark.parametrize("workers", [1, 2])
def test_crash_is_blamed_on_its_trace_alone(workers: int) -> None:
    suffixes = ["halve", "subtract(3)", "subtract(1)"]
    found, evaluator = at_sites(FRAGILE, (), [Trial("a", (one,)) for one in suffixes], workers=workers)
    assert [item.cost for item in found] == [-320, math.inf, -1]
    assert evaluator.crashes == 1


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every program for a large one."""
    monkeypatch.setattr(importlib.import_module("burnish.search.run"), "LARGE_SITES", 1)


def searched(task: Task, budget: int, program: Program = PROGRAM, workers: int = 1) -> tuple[object, ...]:
    problem = Problem(task, program, limits=LIMITS)
    return told(search(problem, Budget(evaluations=budget, workers=workers)))


@pytest.mark.usefixtures("large")
def test_search_goes_on_after_a_crash_of_a_part() -> None:
    seen: list[Progress] = []
    search(Problem(FRAGILE, PROGRAM, limits=LIMITS), Budget(evaluations=30, workers=2), progress=seen.append)
    assert seen[-1].crashes > 0
    assert seen[-1].best.cost < 200
    assert any(split_entry(text)[0] for text in seen[-1].best.trace)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(("task", "program"), [(COUNTING, PROGRAM), (LLVM, compiled("hash_table.c"))])
@pytest.mark.parametrize("budget", [3, 40])
def test_result_depends_on_the_seed_alone(task: Task, program: Program, budget: int) -> None:
    one, two = (searched(task, budget, program, workers) for workers in (1, 2))
    assert one == two
    assert one[2] == budget


def test_joined_trace_keeps_what_the_parts_gained() -> None:
    suffixes = (("sroa<modify-cfg>", "early-cse"), ("function-simplification<O2>",), ("gvn",))
    gains: list[float] = []
    costs: list[float] = []

    def watched(space: SearchSpace, rng: np.random.Generator) -> SiteProposals:
        refining = partwise(replace(space, suffixes=suffixes), rng, group=len(suffixes))
        batch = next(refining)
        while len(costs) < 2:  # at the beginning, and when the learned suffixes were tried
            found = yield batch
            if isinstance(batch, SiteTrials):
                best: dict[str, float] = {}
                for trial, item in zip(batch.trials, found, strict=True):
                    best[trial.site] = min(best.get(trial.site, 0.0), item.cost)
                gains.append(-sum(best.values()))
            else:
                costs.append(found[0].cost)
            batch = refining.send(found)

    unoptimized = replace(LLVM, hints=SearchHints(()))
    budget = Budget(evaluations=12, workers=2)
    result = run(
        Method("partwise", watched), Problem(unoptimized, compiled("machine.c"), "loaded-bytes"), budget
    )
    assert len(gains) == 1 and gains[0] > 0.2 * costs[0]
    assert result.cost == costs[1] == pytest.approx(costs[0] - gains[0], abs=16)  # sections are aligned


def test_search_without_parts_goes_on_as_ever(large: None) -> None:
    found = search(Problem(COUNTING, PROGRAM, "largest"), Budget(evaluations=200, workers=1))
    assert found.cost < 100


def test_others_take_no_program_for_large(large: None) -> None:
    problem, budget = Problem(COUNTING, PROGRAM), Budget(evaluations=30, workers=1)
    result = search(problem, budget, method="genetic", seed=1)
    plain = run(SEARCHES["genetic"], problem, budget, seed=1)
    assert told(result) == told(plain)
    assert np.isfinite(result.cost)
