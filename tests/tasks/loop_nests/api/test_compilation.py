"""Which schedule a nest gets, what of that is remembered, and what cannot be compiled."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish import loops
from burnish.core.errors import InputError, Miscompiled, ProgramError, UnknownName
from burnish.core.guide import Guide, InitialTraces, in_order
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.llvm.run.measurements import MeasurementCache
from burnish.tasks.loop_nests.api import compilation, schedule
from burnish.tasks.loop_nests.api.compilation import cache_file, compile_nest, key_of, read
from burnish.tasks.loop_nests.api.schedule import Schedule
from burnish.tasks.loop_nests.kernel import Bench
from burnish.tasks.tensors.machine import host
from burnish.workers.worker import Worker

STATEMENT = "c[m,n] += a[m,k] * b[k,n]"
EXTENTS: Any = {"m": 12, "n": 16, "k": 8}
NEST = read(STATEMENT, "f32", EXTENTS)
STOPS, DIES = "k: split(2)", "k: split(4)"
A = np.random.default_rng(0).random((12, 8), dtype=np.float32)
B = np.random.default_rng(1).random((8, 16), dtype=np.float32)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


class Advice:
    """A policy with some traces."""

    def __init__(self, *traces: Trace) -> None:
        self.traces = traces

    def __call__(self, session: Session) -> Guide:
        return Guide(initial_traces=in_order(self.traces))


def is_right(kernel: loops.CompiledKernel) -> bool:
    return bool(np.allclose(kernel(A, B), A @ B, rtol=1e-5))


@pytest.mark.parametrize(
    ("statements", "extents", "error", "match"),
    [
        ("c[m,n] = a[m", {"m": 2}, ProgramError, "was never closed"),
        ("", {}, ProgramError, "expected a statement"),
        (STATEMENT, {"m": 2, "n": 2}, ProgramError, "k has no extent; expected k=N"),
        (STATEMENT, {"m": 2, "n": 2, "k": 0}, ProgramError, "k is 0; expected k=N"),
        (STATEMENT, {**EXTENTS, "kk": 2}, UnknownName, "no iterator named 'kk'; did you mean 'k'"),
        (STATEMENT, {**EXTENTS, "k": 2.0}, InputError, "k=2.0: expected a whole number"),
        (STATEMENT, {**EXTENTS, "dtype": "f16"}, InputError, "dtype 'f16': expected f32 or f64"),
        (STATEMENT, {**EXTENTS, "threads": 0}, InputError, "threads=0: expected 1 to"),
        (STATEMENT, {**EXTENTS, "refine_seconds": -1}, InputError, "expected a number of seconds"),
        (STATEMENT, {**EXTENTS, "policy": "best"}, UnknownName, "no policy named 'best'"),
    ],
)
def test_what_cannot_be_compiled_is_named(
    statements: str, extents: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        loops.compile(statements, **extents)


@pytest.mark.parametrize("dtype", ["f64", "float64", float, np.float64, np.dtype("f8")])
def test_types_have_numpys_names(dtype: Any) -> None:
    assert loops.compile(STATEMENT, dtype=dtype, policy="none", **EXTENTS).dtype == np.float64


def test_a_policys_first_choice_is_taken() -> None:
    traces = (("n: swap_down", "n: vectorize"), ("m: split(2)",))
    kernel = loops.compile(STATEMENT, policy=Advice(*traces), **EXTENTS)
    assert kernel.schedule == Schedule(traces[0])
    assert "[vectorize]" in str(kernel.tree)
    assert is_right(kernel)


def test_a_cursors_moves_are_not_kept() -> None:
    kernel = loops.compile(STATEMENT, policy=Advice(("down", "split(4)", "up", "split(2)")), **EXTENTS)
    assert kernel.schedule.trace == ("n: split(4)", "m: split(2)")


def test_an_illegal_choice_is_passed_over() -> None:
    kernel = loops.compile(STATEMENT, policy=Advice(("m: split(12)",), ("m: split(4)",)), **EXTENTS)
    assert kernel.schedule.trace == ("m: split(4)",)


def test_a_schedule_that_is_wrong_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    check, seen = Bench.check, []

    def refuse(bench: Bench, compiled: Any) -> None:
        seen.append(compiled)
        if len(seen) < 3:
            raise Miscompiled("c[0, 0] is wrong")
        check(bench, compiled)

    monkeypatch.setattr(Bench, "check", refuse)
    traces = (("m: split(2)",), ("m: split(4)",))
    said = r"the last of 2 proposals: c\[0, 0\] is wrong\)\. The loops keep their written order"
    with pytest.warns(RuntimeWarning, match=said) as warned:
        kernel = loops.compile(STATEMENT, policy=Advice(*traces), **EXTENTS)
    assert [Path(one.filename).name for one in warned] == ["test_compilation.py"]
    assert kernel.schedule.trace == ()
    assert is_right(kernel)


def test_a_policy_without_a_schedule_is_said() -> None:
    with pytest.warns(
        RuntimeWarning, match="no schedule of the policy can be used .the policy proposes no schedule"
    ):
        kernel = loops.compile(STATEMENT, policy=Advice(), **EXTENTS)
    assert kernel.schedule.trace == ()


def test_loops_as_they_are_can_be_asked_for(recwarn: pytest.WarningsRecorder) -> None:
    assert loops.compile(STATEMENT, policy="none", **EXTENTS).schedule.trace == ()
    assert not recwarn.list


@pytest.mark.usefixtures("nothing_left")
def test_refining_survives_a_process_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float | None] = []
    workers: list[Worker] = []

    class Seen(Worker):
        def __init__(self) -> None:
            super().__init__()
            workers.append(self)

    monkeypatch.setattr(schedule, "Worker", Seen)

    def guide_for(session: Session) -> Guide:
        def traces() -> InitialTraces:
            told.append((yield ("m: split(2)",)))
            told.append((yield ("m: split(12)",)))  # is illegal
            (worker,) = workers
            assert worker.pid
            handle = os.pidfd_open(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)
            select.select([handle], [], [])  # until it has ended
            os.close(handle)
            told.append((yield ("m: split(4)",)))
            told.append((yield (DIES,)))
            told.append((yield ("n: split(4)",)))

        return Guide(initial_traces=traces())

    monkeypatch.setattr(schedule, "measure_trace", measure_or_not)
    kernel = loops.compile(STATEMENT, policy=guide_for, refine_seconds=300.0, **EXTENTS)
    assert [cost is not None and math.isfinite(cost) for cost in told] == [True, False, True, False, True]
    assert kernel.schedule.trace in [(entry,) for entry in ("m: split(2)", "m: split(4)", "n: split(4)")]
    assert kernel.schedule.seconds and math.isfinite(kernel.schedule.seconds)
    assert kernel.schedule.refine_seconds == 300.0
    assert is_right(kernel)


@pytest.mark.usefixtures("nothing_left")
def test_a_schedule_that_takes_too_long_ends_with_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "measure_trace", measure_or_not)
    kernel = loops.compile(STATEMENT, policy=Advice((STOPS,)), refine_seconds=1.0, **EXTENTS)
    assert kernel.schedule == Schedule((STOPS,))  # unmeasured: the policy's first
    assert is_right(kernel)


def test_without_a_policy_refining_draws_schedules() -> None:
    kernel = loops.compile(STATEMENT, policy="none", refine_seconds=2.0, cache=False, **EXTENTS)
    assert kernel.schedule.trace
    assert is_right(kernel)


@pytest.mark.parametrize("refine_seconds", [0.0, 2.0])
def test_threads_share_the_outermost_loop(refine_seconds: float) -> None:
    advice = Advice(("n: swap_down", "n: vectorize"))
    kernel = loops.compile(STATEMENT, policy=advice, threads=2, refine_seconds=refine_seconds, **EXTENTS)
    assert kernel.schedule.trace == ("n: swap_down", "n: vectorize", "m: parallel")
    assert kernel.schedule.threads == 2
    for _ in range(100):
        assert is_right(kernel)


def test_a_schedule_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    first = loops.compile(STATEMENT, **EXTENTS)
    monkeypatch.setattr(compilation, "_compile", unexpected)
    again = loops.compile(STATEMENT, **EXTENTS)
    assert again.schedule == first.schedule
    assert is_right(again)
    with pytest.raises(AssertionError):
        loops.compile(STATEMENT, cache=False, **EXTENTS)
    with pytest.raises(AssertionError):  # a function has no name to be remembered by
        loops.compile(STATEMENT, policy=Advice(), **EXTENTS)


def test_what_was_refined_longer_is_good_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Schedule(("m: split(4)",), refine_seconds=1.0, seconds=1e-6)
    MeasurementCache(cache_file()).keep(key_of(NEST, "shipped"), kept.text)
    monkeypatch.setattr(compilation, "_compile", unexpected)
    assert compile_nest(NEST).schedule == kept
    assert compile_nest(NEST, refine_seconds=1.0).schedule == kept
    with pytest.raises(AssertionError):
        compile_nest(NEST, refine_seconds=2.0)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "{}",
        "[]",
        '{"trace": 3, "refine_seconds": 0, "seconds": null, "threads": 1}',
        Schedule(("q: split(2)",)).text,
        Schedule(("m: split(5)",)).text,
        Schedule(("m: split(1024)",)).text,
        Schedule(("m: up",)).text,
    ],
)
def test_damaged_schedules_are_written_anew(text: str) -> None:
    cache, key = MeasurementCache(cache_file()), key_of(NEST, "shipped")
    cache.keep(key, text)
    assert is_right(compile_nest(NEST))
    assert cache.find(key) == compile_nest(NEST, cache=False).schedule.text


def test_a_damaged_file_is_begun_anew() -> None:
    loops.compile(STATEMENT, **EXTENTS)
    cache_file().write_bytes(b"nonsense" * 1000)
    assert is_right(loops.compile(STATEMENT, **EXTENTS))
    assert MeasurementCache(cache_file()).find(key_of(NEST, "shipped"))


def test_a_folder_that_cannot_be_written_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert is_right(loops.compile(STATEMENT, **EXTENTS))


def test_processes_share_a_file() -> None:
    code = f"from burnish import loops\nfor m in range(2, 6): loops.compile({STATEMENT!r}, m=m, n=4, k=4)"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    cache = MeasurementCache(cache_file())
    for m in range(2, 6):
        assert cache.find(key_of(read(STATEMENT, "f32", {"m": m, "n": 4, "k": 4}), "shipped"))


def others() -> Iterator[bytes]:
    yield key_of(NEST, "none")
    yield key_of(NEST, "shipped", threads=2)
    yield key_of(read(STATEMENT, "f64", EXTENTS), "shipped")
    yield key_of(read(STATEMENT, "f32", {**EXTENTS, "k": 9}), "shipped")
    yield key_of(read(STATEMENT.replace("a[m,k]", "a[k,m]"), "f32", EXTENTS), "shipped")


def test_a_key_is_all_that_a_schedule_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    own = key_of(NEST, "shipped")
    assert len({own, *others()}) == 6
    other = replace(host(), features="+avx2")
    monkeypatch.setattr(compilation, "host", lambda: other)
    assert key_of(NEST, "shipped") != own


def unexpected(*arguments: Any) -> Any:
    raise AssertionError("nothing was to be chosen")


def measure_or_not(program: Program, trace: Trace, threads: int, again: bool = False) -> Any:
    """Measure, in a worker; for STOPS, sleep; for DIES, die."""
    if trace == (STOPS,):
        time.sleep(3600)
    if trace == (DIES,):
        os.kill(os.getpid(), signal.SIGKILL)
    return schedule.measure_trace(program, trace, threads, again)
