"""Every search, on every task: what they all promise."""

from __future__ import annotations

import importlib
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import UnknownName
from burnish.core.guide import Guide
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.search import SEARCHES, Budget, Progress, search
from burnish.search.problem import Problem
from burnish.search.run import Method, run
from burnish.search.space import Batch, Proposals, SearchSpace
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import GIB, Limits
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls, optimum
from tests.core.counting_task import OPTIMUM, TASK, counters
from tests.core.failures import failing_task
from tests.core.splitting_task import TASK as SPLITTING
from tests.core.splitting_task import pieces
from tests.core.staged_task import TASK as STAGED
from tests.sources import program as compiled

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
PROGRAM = counters("a=240 b=77")
SAME = ("greedy-3", "beam-2-dfs", "beam-4-bfs")  # as others, but for a number
CHOSEN = [name for name in SEARCHES if name not in SAME]
EVERY = pytest.mark.parametrize("method", CHOSEN)
KINDS = ("random", "greedy", "beam", "genetic", "mcts", "mixed")  # where it takes long; others are slow tests
LONG = pytest.mark.parametrize(
    "method", [name if name in KINDS else pytest.param(name, marks=pytest.mark.slow) for name in CHOSEN]
)
REACHING = [name for name in CHOSEN if not name.endswith("bfs")]  # breadth takes longer than a test has
FINITE = [name for name in CHOSEN if name.startswith(("greedy", "beam"))]  # they end by themselves


def searched(task: Task, method: str, budget: str, program: Program = PROGRAM, **options: Any) -> Result:
    """Search on one worker by default; options that a problem or a budget has are theirs."""
    problem = Problem(task, program, options.pop("objective", None), limits=options.pop("limits", LIMITS))
    limit = replace(Budget.parse(budget), workers=options.pop("workers", 1))
    return search(problem, limit, method=method, **options)


def reached(task: Task, method: str, program: Program, best: float = OPTIMUM, **options: Any) -> bool:
    """Search for 1,500 evaluations at most; return whether the optimum is found, and its trace leads there.

    The search is interrupted there: a test of what is found needs no more of it.
    """

    def interrupt(progress: Progress) -> None:
        if progress.best.cost == best:
            raise KeyboardInterrupt

    result = searched(task, method, "1500", program, progress=interrupt, seed=1, **options)
    session = task.open(program)
    session.replay(result.trace)
    return result.cost == session.measure(result.objective) == best


def told(result: Result) -> tuple[object, ...]:
    """Return all of a result that may not depend on the clock."""
    return result.trace, result.cost, result.evaluations, result.method, result.seed, result.digest


@pytest.mark.parametrize("method", REACHING)
def test_search_finds_the_known_optimum(method: str) -> None:
    assert reached(TASK, method, PROGRAM, workers=2)


@EVERY
def test_what_is_illegal_at_first_is_tried_where_it_is_legal(method: str) -> None:
    """255 is odd: halving it comes after a subtraction."""
    program = counters("a=255")
    assert not TASK.open(program).legal()[0]
    assert reached(TASK, method, program)


@pytest.mark.parametrize("method", REACHING)
@pytest.mark.parametrize("lengths", ["6", "3 2"])
def test_sites_that_are_born_are_acted_on(method: str, lengths: str) -> None:
    program = pieces(lengths)
    assert reached(SPLITTING, method, program)


@LONG
@pytest.mark.parametrize("text", ["main 4: f f g; f 2: h; g 6: h; h 5:", "main 1: f; f 9: g g; g 2:"])
def test_what_the_compiler_asks_is_answered(method: str, text: str) -> None:
    """The heuristic answers the rest; in the second program, `fold` is nowhere legal at first."""
    program = calls(text)
    assert reached(ASKING, method, program, optimum(program))


@LONG
def test_tasks_that_follow_on_each_other_are_searched_as_one(method: str) -> None:
    program = calls("main 5: f f g; f 2: h; g 6: h; h 5:")
    assert reached(STAGED, method, program)


@LONG
def test_result_of_sites_that_are_born_depends_on_the_seed_alone(method: str) -> None:
    for task, program in ((SPLITTING, pieces("9 3")), (ASKING, calls("main 4: f f g; f 2: h; g 6: h; h 5:"))):
        one, two = (searched(task, method, "60", program, workers=n, seed=3) for n in (1, 2))
        assert told(one) == told(two)


def test_illegal_proposals_are_counted() -> None:
    assert searched(TASK, "greedy", "60", counters("a=255")).illegal == len(TASK.hints.initial_traces)
    assert searched(TASK, "genetic", "60", counters("a=255")).illegal > 0  # candidates of traces that differ
    assert searched(LLVM, "genetic", "60", compiled("structs.c")).illegal == 0


@EVERY
def test_result_depends_on_the_seed_alone(method: str) -> None:
    one, two = (searched(TASK, method, "60", workers=workers, seed=3) for workers in (1, 2))
    assert told(one) == told(two)


@pytest.mark.parametrize("method", ["genetic", "beam", "sitewise"])
def test_llvm_result_depends_on_the_seed_alone(method: str) -> None:
    source = compiled("structs.c")
    one, two = (searched(LLVM, method, "40", workers=workers, seed=4, program=source) for workers in (1, 2))
    assert told(one) == told(two)
    assert one.cost <= searched(LLVM, method, "2", program=source).cost


@pytest.mark.parametrize("method", [name for name in CHOSEN if name not in FINITE])
def test_other_seed_is_another_search(method: str) -> None:
    assert len({searched(TASK, method, "30", seed=seed, objective="largest").trace for seed in range(3)}) > 1


@EVERY
@pytest.mark.parametrize("evaluations", [0, 2, 40])
def test_budget_in_evaluations_is_kept(method: str, evaluations: int) -> None:
    seen: list[Progress] = []
    result = searched(TASK, method, str(evaluations), progress=seen.append, seed=2)
    costs = [progress.best.cost for progress in seen]
    assert costs == sorted(costs, reverse=True)
    assert result.evaluations == len(seen)
    assert result.evaluations == evaluations or (method in FINITE and result.evaluations < evaluations)


@pytest.mark.parametrize("method", [name for name in CHOSEN if name not in FINITE])
def test_budget_in_seconds_ends_a_search(method: str) -> None:
    result = searched(TASK, method, "0.1s")
    assert result.cost <= 1 + 240 + 77


@EVERY
def test_interrupted_search_keeps_the_best_so_far(method: str) -> None:
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if progress.evaluations == 6:
            raise KeyboardInterrupt

    result = searched(TASK, method, "1000", workers=2, progress=interrupt)
    assert (result.cost, result.trace) == (seen[-1].best.cost, seen[-1].best.trace)
    assert result.evaluations == 6


@LONG
def test_search_survives_crashes(method: str) -> None:
    seen: list[Progress] = []
    budget = "80" if method == "mixed" else "40"  # it begins with the sites
    result = searched(failing_task(TASK, "give-up"), method, budget, progress=seen.append)
    at_sites = method in ("sitewise", "each-site")  # where failures are not legal; both are one here
    assert seen[-1].crashes > 0 or at_sites
    assert result.cost < 1 + 240 + 77
    assert "give-up" not in result.trace


@pytest.mark.parametrize("failure", ["be-killed", "eat-memory", "hang"])
def test_search_survives_every_kind_of_crash(failure: str) -> None:
    limits = Limits(deadline_seconds=2, memory_bytes=GIB // 4)
    seen: list[Progress] = []
    result = searched(failing_task(TASK, failure), "greedy", "8", progress=seen.append, limits=limits)
    assert seen[-1].crashes == 1
    assert result.cost < 1 + 240 + 77


@EVERY
def test_program_without_anything_to_do_is_left_as_it_is(method: str) -> None:
    result = searched(TASK, method, "30", program=counters("a=0"))
    assert (result.trace, result.cost) == ((), OPTIMUM)


@pytest.mark.parametrize("method", ["sitewise", "mixed", "genetic"])
def test_module_without_functions_is_left_as_it_is(method: str) -> None:
    data = Program("data", "llvm", b"@x = global i32 1\n")
    assert searched(LLVM, method, "20", program=data).cost == 1


def stubborn(space: SearchSpace, rng: np.random.Generator) -> Proposals:
    """Propose the same two traces for ever."""
    while True:
        yield Batch([(), ("halve",)])


@pytest.mark.parametrize("budget", ["1000", "300s"])  # what ends it is that nothing new comes
def test_search_that_has_nothing_new_ends(budget: str) -> None:
    limit = replace(Budget.parse(budget), workers=1)
    result = run(Method("stubborn", stubborn), Problem(TASK, PROGRAM), limit)
    assert result.evaluations == 2


def test_search_that_has_nothing_new_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("burnish.search.run"), "PATIENCE", math.inf)
    result = run(Method("stubborn", stubborn), Problem(TASK, PROGRAM), Budget(seconds=0.2, workers=1))
    assert result.seconds >= 0.2


def test_initial_traces_come_first() -> None:
    seen: list[Progress] = []
    searched(LLVM, "random", "3", program=compiled("structs.c"), progress=seen.append, objective="text-bytes")
    session = LLVM.baseline("Oz")(compiled("structs.c"))
    assert seen[-1].best.cost <= session.measure("text-bytes")


def test_result_says_what_it_is() -> None:
    result = searched(TASK, "greedy", "5", seed=9)
    assert (result.task, result.objective, result.method, result.seed) == (
        "counting-v4",
        "total",
        "greedy",
        9,
    )
    assert (result.digest, result.valid, result.verified) == (PROGRAM.digest, None, ())


def test_unknown_search_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'genetic'"):
        searched(TASK, "genetics", "5")


@pytest.mark.parametrize(
    ("budget", "least", "most"),
    [(Budget(seconds=1e6, evaluations=3), 0.9e6, 1e6), (Budget(evaluations=3), math.inf, math.inf)],
)
def test_guides_see_when_the_search_ends(budget: Budget, least: float, most: float) -> None:
    seen: list[float] = []

    def guide_for(session: Session) -> Guide:
        seen.append(session.ends - time.monotonic())
        return Guide()

    search(
        Problem(TASK, PROGRAM, limits=LIMITS),
        replace(budget, workers=1),
        method="random",
        guide_for=guide_for,
    )
    assert least <= seen[0] <= most
