"""Results are compared with baselines anew; failures are failures."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from burnish.core.program import Program, Workload
from burnish.core.result import Result
from burnish.evaluation import timing
from burnish.evaluation.evaluate import Evaluated, evaluate_result, ratio_of, summarise
from burnish.evaluation.timing import FASTER, IDENTICAL, SLOWER, Comparer, Comparison, Effort
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import Options, make_task
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task
from tests.llvm.run.programs import run
from tests.sources import program

pytestmark = pytest.mark.usefixtures("nothing_left")

SPEED = make_task(Options(level="O3"))
QUICK = Comparer(Effort(repeats=6, confidence=0.9))
PROGRAM = counters("a=240 b=77")


def runnable(expected: bytes | None = None) -> Program:
    """Return behave.c, which works for a while."""
    plain = program("behave.c", "O3")
    workload = Workload((run("work", "3000000", expected=expected),))
    return Program(plain.name, plain.language, plain.content, workload)


def result_of(source: Program, *trace: str, fallback: str = "", objective: str = "seconds") -> Result:
    """Return a result that nobody measured."""
    row = Result(SPEED.id, source.name, source.digest, objective, "m", 0, trace, 1.0, {}, 1, 0.1, {})
    return replace(row, fallback=fallback)


def test_run_time_and_sizes_are_compared() -> None:
    source = runnable()
    result = result_of(source, "clang<O3>")
    rows = evaluate_result(Problem(SPEED, source), result, ["O0", "O3"], comparer=QUICK)
    unoptimized, same = rows
    assert (unoptimized.against, unoptimized.noisy["seconds"].verdict) == ("O0", FASTER)
    assert (same.noisy["seconds"].verdict, same.noisy["seconds"].ratio) == (IDENTICAL, 1)
    assert same.sizes["text-bytes"][0] == same.sizes["text-bytes"][1]
    assert unoptimized.checks == ("outputs equal -O0's on 1 input",)


def test_worse_result_is_called_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which what is called 2 in compare_times, the candidate, takes twice as long."""
    monkeypatch.setattr(timing, "run_clock", lambda *_: lambda path, _: 2.0 if path.name == "2" else 1.0)
    source = runnable()
    comparer = Comparer(QUICK.effort)  # which has not seen the two before
    (row,) = evaluate_result(
        Problem(SPEED, source), result_of(source, "clang<O3>"), ["O0"], comparer=comparer
    )
    assert row.noisy["seconds"].verdict == SLOWER
    assert row.noisy["seconds"].high < 1


def test_kept_baseline_is_evaluated_as_such() -> None:
    source = runnable()
    (row,) = evaluate_result(Problem(SPEED, source), result_of(source, fallback="O3"), ["O3"], comparer=QUICK)
    assert row.noisy["seconds"].verdict == IDENTICAL


def test_wrong_outputs_are_a_failure() -> None:
    source = runnable(expected=b"7\n")
    result = result_of(source, "clang<O1>")
    rows = evaluate_result(Problem(SPEED, source), result, ["O0", "O3"], comparer=QUICK)
    assert [row.against for row in rows] == ["O0", "O3"]
    assert all("expected b'7\\n'" in row.failure and not row.noisy and not row.sizes for row in rows)


def test_crash_is_a_failure() -> None:
    row = Result("counting", "p", PROGRAM.digest, "total", "m", 0, ("halve", "give-up"), 1, {}, 1, 0.1, {})
    (seen,) = evaluate_result(Problem(failing_task(TASK), PROGRAM), row, ["halved"], comparer=QUICK)
    assert "out of registers" in seen.failure


def test_program_that_cannot_be_run_has_sizes_alone() -> None:
    row = Result("counting", "p", PROGRAM.digest, "total", "m", 0, ("b: subtract(1)",), 1, {}, 1, 0.1, {})
    start, halved = evaluate_result(Problem(TASK, PROGRAM), row, ["start", "halved"], comparer=QUICK)
    assert (start.sizes["total"], halved.sizes["total"]) == ((318, 317), (93, 317))
    assert (start.noisy, start.failure) == ({}, "")
    assert start.checks == ("outputs were not compared: the program was not run",)


def compared(ratio: float, width: float = 1.0) -> Comparison:
    """Return a comparison with an interval."""
    return Comparison(ratio, ratio / width, ratio * width, FASTER, 0.95, 15)


def test_mean_is_geometric_and_failures_are_counted() -> None:
    rows = [
        Evaluated("a", "O3", "", (), {"text-bytes": (100, 50)}, {"seconds": compared(2.0)}),
        Evaluated("b", "O3", "", (), {"text-bytes": (100, 200)}, {"seconds": compared(8.0)}),
        Evaluated("c", "O3", "it crashed"),
        Evaluated("a", "Oz", "", (), {"text-bytes": (100, 25)}),
    ]
    by_key = {(item.objective, item.against): item for item in summarise(rows, confidence=0.95)}
    time = by_key["seconds", "O3"]
    assert (time.ratio, time.programs, time.failures, time.noisy) == (pytest.approx(4), 2, 1, True)
    assert (time.low, time.high) == (pytest.approx(2), pytest.approx(8))
    assert by_key["text-bytes", "O3"].ratio == pytest.approx(1)
    assert by_key["text-bytes", "Oz"].ratio == pytest.approx(4)
    assert ("seconds", "Oz") not in by_key


def test_mean_of_one_is_as_uncertain_as_it() -> None:
    (mean,) = summarise([Evaluated("a", "O3", noisy={"seconds": compared(1.1, 1.05)})], confidence=0.95)
    assert mean.low is not None and mean.high is not None
    assert math.log(mean.low) == pytest.approx(math.log(1.1 / 1.05), abs=0.003)
    assert math.log(mean.high) == pytest.approx(math.log(1.1 * 1.05), abs=0.003)


def test_ratio_is_of_what_was_measured() -> None:
    row = Evaluated("a", "O3", sizes={"text-bytes": (100, 50)}, noisy={"seconds": compared(3.0)})
    assert [ratio_of(row, name) for name in ("text-bytes", "seconds", "cycles")] == [2, 3, None]


def test_all_failures_have_no_mean() -> None:
    assert summarise([Evaluated("c", "O3", "it crashed")], confidence=0.95) == []
