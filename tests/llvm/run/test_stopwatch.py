"""Objects are timed once, and only while they do what the unoptimized one does."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import CompileError, Miscompiled
from burnish.core.program import Workload
from burnish.llvm.programs import load_program
from burnish.llvm.run import stopwatch
from burnish.llvm.run.running import RunLimits
from burnish.llvm.run.stopwatch import REPEATS, Stopwatch, measurement_lock, quiet_core
from burnish.llvm.toolchain import bitcode_to_object
from tests.llvm.run.programs import FakeRuns, run
from tests.sources import program

WORKLOAD = Workload((run("work", "10"), run("work", "20")))


@pytest.fixture(scope="module")
def thing() -> bytes:
    return bitcode_to_object(program("behave.c").content, level="O1")


@pytest.fixture(scope="module")
def other() -> bytes:
    return bitcode_to_object(program("behave.c").content, level="O0")


def started(monkeypatch: pytest.MonkeyPatch, runs: FakeRuns, thing: bytes) -> Stopwatch:
    """Return a stopwatch with these runs."""
    runs.replace_real_ones(monkeypatch, inputs=2)
    return Stopwatch(WORKLOAD, lambda: thing)


def test_sum_of_the_least_of_each_input(monkeypatch: pytest.MonkeyPatch, thing: bytes) -> None:
    watch = started(monkeypatch, FakeRuns([5, 10, 4, 30, 7, 20]), thing)
    assert watch.measure(thing) == 4 + 10
    assert REPEATS == 3


def test_counters_are_summed_alike(monkeypatch: pytest.MonkeyPatch, thing: bytes) -> None:
    watch = started(monkeypatch, FakeRuns([5, 10, 4, 30, 7, 20]), thing)
    assert watch.measure(thing, "cycles") == 14e9


def test_same_object_is_run_once(monkeypatch: pytest.MonkeyPatch, thing: bytes, other: bytes) -> None:
    watch = started(monkeypatch, FakeRuns([1] * 6 + [2] * 6), thing)
    assert [watch.measure(thing), watch.measure(thing), watch.measure(other)] == [2, 2, 4]
    assert watch.measure(thing) == 2
    assert watch.objects_run == 2


def test_memory_of_measurements_is_bounded(
    monkeypatch: pytest.MonkeyPatch, thing: bytes, other: bytes
) -> None:
    monkeypatch.setattr(stopwatch, "KEPT", 1)
    watch = started(monkeypatch, FakeRuns([1] * 18), thing)
    for item in (thing, other, thing):
        watch.measure(item)
    assert watch.objects_run == 3


def test_wrong_output_is_no_time(monkeypatch: pytest.MonkeyPatch, thing: bytes) -> None:
    runs = FakeRuns()
    runs.output = b"wrong"
    watch = started(monkeypatch, runs, thing)
    for _ in range(2):  # and it is not run a second time
        with pytest.raises(Miscompiled, match=r"input 'work 10': prints b'wrong'.*expected b'right'"):
            watch.measure(thing)
    assert watch.objects_run == 1


@pytest.mark.usefixtures("nothing_left")
def test_real_runs_are_timed_and_checked(thing: bytes, other: bytes) -> None:
    watch = Stopwatch(WORKLOAD, lambda: other)
    assert watch.measure(thing) > 0
    assert watch.measure(thing, "task-clock") > 0
    assert watch.objects_run == 2


@pytest.mark.usefixtures("nothing_left")
def test_candidate_that_hangs_is_miscompiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thing: bytes
) -> None:
    monkeypatch.setattr(stopwatch, "limits_after", lambda _: RunLimits(timeout_seconds=0.3))
    wrong = b"int main(void) { for (volatile int i = 0;; i++); }"
    watch = Stopwatch(Workload((run("work", "10"),)), lambda: thing)
    (tmp_path / "a.c").write_bytes(wrong)
    hanging = bitcode_to_object(load_program(tmp_path / "a.c").content, level="O1")
    with pytest.raises(Miscompiled, match="input 'work 10': not finished within"):
        watch.measure(hanging)


@pytest.mark.usefixtures("nothing_left")
def test_object_that_cannot_be_linked_is_an_error(thing: bytes) -> None:
    watch = Stopwatch(Workload((run("work"),), link_arguments=("-lnothing-of-this-name",)), lambda: thing)
    with pytest.raises(CompileError, match="nothing-of-this-name"):
        watch.measure(thing)


def hold(entered: Any, leave: Any) -> None:
    """Be alone for a while."""
    with measurement_lock():
        entered.set()
        leave.wait()


def test_one_process_at_a_time_is_alone() -> None:
    context = multiprocessing.get_context("spawn")
    entered, leave, second, never = (context.Event() for _ in range(4))
    first = context.Process(target=hold, args=(entered, leave))
    other = context.Process(target=hold, args=(second, never))
    first.start()
    assert entered.wait(30)
    other.start()
    assert not second.wait(0.5)
    leave.set()
    assert second.wait(30)
    other.kill()  # which gives way as well
    with measurement_lock():
        pass
    first.join()
    other.join()


def test_quiet_core_is_one_of_ours() -> None:
    assert quiet_core() in os.sched_getaffinity(0)
