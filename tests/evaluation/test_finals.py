"""The best of a search is the fastest in turn, not the luckiest. All by simulated clocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from burnish.core.errors import CompileError, Miscompiled
from burnish.core.guide import Guide, GuideFor, in_order
from burnish.core.program import Run, Workload
from burnish.evaluation import finals as rooms
from burnish.evaluation import optimize, timing
from burnish.evaluation.finals import FINALISTS, Heard, finalists, finals, halve, has_finals
from burnish.evaluation.timing import NO_DIFFERENCE, SLOWER, Comparison, Effort
from burnish.policies import find as policies
from burnish.search import Budget, Progress
from burnish.search.problem import Problem
from burnish.search.space import Evaluation
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.tasks.loop_nests import TASK as NESTS
from tests.evaluation.test_confirm import LIMITS, SPEED, runnable

ONE = Workload((Run("only"),))


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each look at the clock take a second."""
    ticks = count()
    monkeypatch.setattr("burnish.evaluation.finals.time.monotonic", lambda: float(next(ticks)))


def files(tmp_path: Path, *seconds: float) -> list[Path]:
    """Return "executables" that say how long they take."""
    paths = [tmp_path / str(number) for number in range(len(seconds))]
    for path, time in zip(paths, seconds, strict=True):
        path.write_text(str(time))
    return paths


def noisy_clock(scale: float) -> Callable[[Path, Run], float]:
    """Return a clock whose every time is longer by chance, and which says what ran."""
    rng = np.random.default_rng(1)
    return lambda path, _: float(path.read_text()) * (1 + scale * rng.random())


@pytest.mark.usefixtures("ticking")
def test_the_fastest_is_left_at_the_end(tmp_path: Path) -> None:
    paths = files(tmp_path, 1.0, 1.04, 0.97, 1.01, 0.94, 1.0, 0.99)
    ratios = halve(paths, ONE, noisy_clock(0.04), 60)
    assert ratios.index(max(ratios)) == 3  # the fourth after the reference
    assert max(ratios) == pytest.approx(math.log(1 / 0.94), abs=0.02)
    assert sorted(ratios)[:-1] == [-math.inf] * 5


@pytest.mark.usefixtures("ticking")
def test_each_runs_at_least_once_and_slow_ones_seldom(tmp_path: Path) -> None:
    runs: list[str] = []

    def clock(path: Path, _: Run) -> float:
        runs.append(path.read_text())
        return float(path.read_text())

    paths = files(tmp_path, 1.0, 1.5, 0.9, 1.4, 1.3)
    assert halve(paths, ONE, clock, 0) == pytest.approx([-math.inf, math.log(1 / 0.9), -math.inf, -math.inf])
    assert {one: runs.count(one) for one in set(runs)} == dict.fromkeys(
        ("1.0", "1.5", "0.9", "1.4", "1.3"), 2
    )
    runs.clear()
    halve(paths, ONE, clock, 40)
    assert runs.count("1.5") < runs.count("0.9") == runs.count("1.0")


@pytest.mark.parametrize(
    ("seconds", "run_seconds", "expected"),
    [
        (10, 0.01, FINALISTS),
        (8, 1, 1),  # two rounds of two programs, each run twice
        (7.9, 1, 0),
        (12, 1, 2),  # the reference and two others
        (32, 1, 4),  # two rounds of five, then two of three
        (0, 0.01, 0),
    ],
)
def test_so_many_can_run_in_the_time(seconds: float, run_seconds: float, expected: int) -> None:
    assert finalists(seconds, run_seconds) == expected


def test_evaluations_are_heard_and_handed_on() -> None:
    seen: list[Progress] = []
    heard = Heard(seen.append)
    found = [(("b",), 2.0), (("a",), 1.0), (("c",), math.inf)]
    for trace, cost in found:
        latest = Evaluation(trace, cost, trace)
        heard(Progress(latest, latest, 1, 0, 0.1))
    assert heard.best() == [("a",), ("b",)] and len(seen) == 3
    assert Heard(None).best() == []


def test_finals_are_for_run_times_in_a_limit_of_time() -> None:
    problem = Problem(SPEED, runnable(), "seconds", limits=LIMITS)
    assert has_finals(problem, Budget(seconds=5))
    assert not has_finals(problem, Budget(evaluations=5))
    assert not has_finals(replace(problem, objective="text-bytes"), Budget(seconds=5))
    assert not has_finals(replace(problem, objective="compile-seconds"), Budget(seconds=5))
    assert not has_finals(replace(problem, objective="text-bytes^0.5*seconds^0.5"), Budget(seconds=5))
    assert not has_finals(replace(problem, program=replace(runnable(), workload=None)), Budget(seconds=5))


TRACES = [("clang<O1>",), ("clang<O1>", "dce"), ("clang<Oz>",)]  # the first two make the same object


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of programs that are run; of the others, the last is a little faster."""
    numbers: list[int] = []

    def halved(paths: Sequence[Path], *_: object) -> list[float]:
        numbers.append(len(paths))
        return [-0.01] * (len(paths) - 2) + [0.02]

    monkeypatch.setattr(rooms, "run_clock", lambda *_: lambda *_: 0.0)
    monkeypatch.setattr(rooms, "halve", halved)
    return numbers


def test_equal_objects_run_once(entered: list[int]) -> None:
    problem = Problem(SPEED, runnable(), "seconds", limits=LIMITS)
    assert finals(problem, [], TRACES, "O3", 60) == TRACES[2]
    assert finals(problem, [], TRACES[:2], "O3", 60) == TRACES[0]
    assert finals(problem, [], [], "O3", 60) is None
    assert entered == [3, 2]


def test_no_winner_without_a_faster_one(monkeypatch: pytest.MonkeyPatch, entered: list[int]) -> None:
    problem = Problem(SPEED, runnable(), "seconds", limits=LIMITS)
    monkeypatch.setattr(rooms, "halve", lambda *_: [-0.01, 0.0])
    assert finals(problem, [], TRACES, "O3", 60) is None
    monkeypatch.setattr(rooms, "halve", Mock(side_effect=Miscompiled("input 'only': killed")))
    assert finals(problem, [], TRACES, "O3", 60) is None
    assert not entered


def test_what_cannot_be_linked_is_left_out(monkeypatch: pytest.MonkeyPatch, entered: list[int]) -> None:
    problem = Problem(SPEED, runnable(), "seconds", limits=LIMITS)
    linked = Mock(side_effect=[Path("reference"), CompileError("no such symbol"), Path("another")])
    monkeypatch.setattr(timing, "link", linked)
    assert finals(problem, [], [TRACES[0], TRACES[2]], "O3", 60) == TRACES[2]
    assert entered == [2]


def test_objects_are_made_in_the_first_half_of_the_time(
    monkeypatch: pytest.MonkeyPatch, entered: list[int]
) -> None:
    now = [0.0]

    def link(*_: object) -> Path:
        now[0] += 4  # seconds
        return Path(str(now[0]))

    monkeypatch.setattr(rooms, "time", Mock(monotonic=lambda: now[0]))
    monkeypatch.setattr(timing, "link", link)
    problem = Problem(SPEED, runnable(), "seconds", limits=LIMITS)
    traces = [("clang<O1>",), ("clang<O2>",), ("clang<Oz>",)]
    assert finals(problem, [], traces, "O3", 20) == traces[1]  # the last would begin after 12 s
    assert entered == [3]
    now[0] = 0.0
    assert finals(problem, [], traces, "O3", 3) is None  # the reference took all of it
    assert now == [4] and entered == [3]
    assert finals(problem, traces[2:], traces, "O3", 3) == traces[2]  # a policy's choice
    assert entered == [3]


@pytest.mark.parametrize("verdict", [NO_DIFFERENCE, SLOWER])
def test_the_winner_is_kept_unless_it_is_certainly_slower(
    monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    def find_guide(*_: object) -> tuple[GuideFor, str]:
        return lambda _: Guide(in_order([("clang<O1>",), ("clang<O2>",)])), "guide"

    unclear = Comparison(1.0, 0.9, 1.1, verdict, 0.95, 15, least=(0.11, 0.11))
    monkeypatch.setattr(policies, "find_guide", find_guide)
    monkeypatch.setattr(timing, "compare_times", lambda *_, **__: unclear)
    monkeypatch.setattr("burnish.evaluation.optimization.finals", lambda *_: ("clang<O1>",))
    problem, effort = Problem(SPEED, runnable(), "seconds", limits=LIMITS), Effort(repeats=6, confidence=0.9)
    result = optimize(problem, Budget(seconds=60, evaluations=3), baselines=["O0"], effort=effort)
    assert (result.trace, result.fallback) == (
        (("clang<O1>",), "") if verdict == NO_DIFFERENCE else ((), "O3")
    )


def test_other_tasks_have_no_finals() -> None:
    nest = NESTS.source().load("matmul:8x8x8").program
    assert not has_finals(Problem(NESTS, nest, "seconds"), Budget(seconds=1))
    assert not has_finals(Problem(LLVM, runnable(), "loaded-bytes"), Budget(seconds=1))
