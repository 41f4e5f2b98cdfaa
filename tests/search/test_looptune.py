"""LoopTune's searches, on counters whose ways are known, and on loops."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.core.trace import Trace, split_entry
from burnish.search import Budget, Progress, search
from burnish.search.beam import beam_tree
from burnish.search.greedy import greedy
from burnish.search.problem import Problem
from burnish.search.run import Search
from burnish.search.space import Batch, Evaluation, SearchSpace
from burnish.tasks.loop_nests import TASK as NESTS
from burnish.tasks.loop_nests.families import find
from burnish.tasks.loop_nests.session import NestSession, open_nest
from burnish.workers.worker import GIB, Limits

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
ROWS = pytest.mark.parametrize(
    "method", ["greedy", "greedy-2", "beam-2-dfs", "beam-2-bfs", "beam-4-dfs", "beam-4-bfs", "random"]
)
MATMUL = find("matmul:8x8x8").program()

# Costs of the states in a tree, by the letters that lead there.
COSTS = {
    "": 9, "a": 5, "b": 6, "c": 7,
    "aa": 8, "ab": 4.5, "ac": 8.5, "ba": 3, "bb": 8, "bc": 9, "ca": 1, "cb": 9, "cc": 9,
    "caa": 2, "cab": 2, "cac": 2, "aba": 5, "abb": 5, "abc": 4, "abca": 4, "abcb": 4, "abcc": 4,
}  # fmt: skip
FAR = 10.0  # of all others


def searched(task: Task, program: Program, method: str, budget: int, **options: Any) -> Result:
    problem = Problem(task, program, limits=LIMITS)
    return search(problem, Budget(evaluations=budget, workers=1), method=method, **options)


def extended(search: Search, longest: int = 9, same: str = "") -> list[str]:
    """Return which states of COSTS a search extends, in its order; those in `same` are one state."""
    space = SearchSpace(("a", "b", "c"), (), (), (Evaluation((), COSTS[""]),), max_length=longest)
    proposals = search(space, np.random.default_rng(0))
    order: list[str] = []

    def evaluated(trace: Trace) -> Evaluation:
        text = "".join(trace)
        digest = "same" if text in same.split() else text
        return Evaluation(trace, COSTS.get(text, FAR), trace, digest=digest)

    with suppress(StopIteration):
        batch = next(proposals)
        while True:
            assert isinstance(batch, Batch)
            if len(batch.traces) > 1:
                order += dict.fromkeys("".join(trace[:-1]) for trace in batch.traces)
            batch = proposals.send([evaluated(trace) for trace in batch.traces])
    return order


def beam(width: int, *, depth_first: bool) -> Search:
    return partial(beam_tree, width=width, depth_first=depth_first)


def test_greedy_takes_the_best_step() -> None:
    """a: 5, ab: 4.5, abc: 4; then nothing is less."""
    assert extended(greedy) == ["", "a", "ab", "abc"]


def test_look_ahead_takes_the_first_step_of_the_best_sequence() -> None:
    """ca: 1, though c: 7 is the worst of the first steps. What comes after ca costs more."""
    level_by_level = [["", "a", "b", "c"], ["c", "ca", "cb", "cc"], ["ca", "caa", "cab", "cac"]]
    assert extended(partial(greedy, lookahead=2)) == list(itertools.chain(*level_by_level))


def test_look_ahead_expands_a_state_once() -> None:
    assert extended(partial(greedy, lookahead=2), same="a b")[:3] == ["", "a", "c"]


def test_depth_first_goes_down_the_best_child_and_backtracks() -> None:
    assert extended(beam(2, depth_first=True), longest=3) == ["", "a", "ab", "aa", "b", "ba", "bb"]


def test_breadth_first_is_level_by_level() -> None:
    assert extended(beam(2, depth_first=False), longest=3) == ["", "a", "b", "ab", "aa", "ba", "bb"]


def test_width_is_of_each_state() -> None:
    assert extended(beam(1, depth_first=False), longest=3) == ["", "a", "ab"]
    assert extended(beam(3, depth_first=False), longest=2) == ["", "a", "b", "c"]


@pytest.mark.parametrize("depth_first", [True, False])
def test_no_state_is_extended_twice(depth_first: bool) -> None:
    assert extended(beam(3, depth_first=depth_first), longest=2, same="b c") == ["", "a", "b"]
    assert extended(beam(3, depth_first=depth_first), longest=2, same="b ab")[:3] in (
        ["", "a", "b"],
        ["", "a", "ab"],
    )


@ROWS
def test_loops_are_scheduled(method: str) -> None:
    seen: list[Progress] = []
    result = searched(NESTS, MATMUL, method, 20, progress=seen.append)
    assert result.evaluations == len(seen) == 20
    assert len({progress.latest.trace for progress in seen}) > 1
    assert {split_entry(text)[1] for text in result.trace}.isdisjoint({"up", "down"})  # sites are named
    assert all(split_entry(text)[0] for text in result.trace)
    NESTS.open(MATMUL).replay(result.trace)


@ROWS
def test_loops_are_scheduled_by_a_cursor(method: str) -> None:
    """Where there are no sites, its moves are steps as others are."""
    seen: list[Progress] = []
    result = searched(replace(NESTS, open=open_without_sites), MATMUL, method, 20, progress=seen.append)
    assert result.evaluations == len(seen) <= 20
    NESTS.open(MATMUL).replay(result.trace)


class CursorSession(NestSession):
    """A nest without sites."""

    has_cursor = False

    def sites(self) -> tuple[str, ...]:
        return ()


def open_without_sites(program: Program) -> NestSession:
    whole = open_nest(program)
    return CursorSession(whole.tree, whole.shared, program)
