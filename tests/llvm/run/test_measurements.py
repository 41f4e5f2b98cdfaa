"""What was measured outlives sessions, and a file that cannot be used costs nothing."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import Miscompiled
from burnish.core.program import Program, Run, Workload
from burnish.envs.env import Env
from burnish.llvm.run import measurements, stopwatch
from burnish.llvm.run.measurements import DAY, MeasurementCache, default_path, key_of
from burnish.llvm.run.stopwatch import Stopwatch
from burnish.tasks.llvm_passes import TASK
from tests.llvm.run.programs import FakeRuns, run
from tests.processes import call_at_once
from tests.sources import program

PLAIN = Workload((run("work", "10"),))
REMEMBERED = replace(PLAIN, remembered=True)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> FakeRuns:
    made = FakeRuns()
    made.replace_real_ones(monkeypatch, inputs=1)
    monkeypatch.setattr(stopwatch, "link", lambda *_: Path("program"))
    return made


def session(workload: Workload = REMEMBERED, reference: bytes = b"-O0") -> Stopwatch:
    return Stopwatch(workload, lambda: reference)


def test_another_session_does_not_run_it_again(runs: FakeRuns) -> None:
    assert session().measure(b"object") == 1
    assert session().measure(b"object") == 1
    assert runs.made == 3


def test_without_leave_everything_is_measured_anew(runs: FakeRuns) -> None:
    assert [session(PLAIN).measure(b"object") for _ in range(2)] == [1, 4]
    assert not default_path().exists()
    session().measure(b"object")
    assert session(PLAIN).measure(b"object") == 10


def test_what_was_measured_is_the_key(runs: FakeRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    session().measure(b"object")
    session().measure(b"another")
    session().measure(b"object", "cycles")
    session(Workload((run("work", "20"),), remembered=True)).measure(b"object")
    session(reference=b"another -O0").measure(b"object")  # what it is compared with
    monkeypatch.setattr(measurements, "machine", lambda: "another machine")
    session().measure(b"object")
    assert runs.made == 6 * 3


def test_parts_of_a_key_do_not_run_together() -> None:
    assert key_of("a", "bc") != key_of("ab", "c")
    assert key_of("a") == key_of(b"a")


def test_wrong_programs_are_remembered(runs: FakeRuns) -> None:
    runs.output = b"wrong"
    for _ in range(2):
        with pytest.raises(Miscompiled, match="prints b'wrong'"):
            session().measure(b"object")
    assert runs.made == 1


def test_late_ones_are_tried_again(runs: FakeRuns) -> None:
    runs.killed = "not finished within 1 seconds"
    for _ in range(2):
        with pytest.raises(Miscompiled, match="not finished within 1 seconds"):
            session().measure(b"object")
    assert runs.made == 2


def test_the_least_used_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = MeasurementCache(tmp_path / "file", kept=10)
    now = 1e9
    monkeypatch.setattr("burnish.llvm.run.measurements.time.time", lambda: now)
    for number in range(10):
        file.keep(key_of(str(number)), float(number))
        now += 1
    now += 2 * DAY
    assert file.find(key_of("0")) == 0
    file.keep(key_of("10"), 10.0)
    left = [number for number in range(11) if file.find(key_of(str(number))) is not None]
    assert left == [0, *range(3, 11)]


@pytest.mark.parametrize("what", ["folder", "locked", "read-only"])
def test_a_file_that_cannot_be_used_costs_nothing(
    runs: FakeRuns, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    monkeypatch.setattr(measurements, "WAIT_SECONDS", 0.05)
    path = default_path()
    path.parent.mkdir()
    holder = None
    if what == "folder":
        path.mkdir()
    elif what == "locked":
        holder = sqlite3.connect(path)
        holder.execute("BEGIN EXCLUSIVE")
    else:
        path.parent.rmdir()
        path.parent.write_text("a file where the folder should be")
    watch = session()
    assert watch.measure(b"object") == 1
    assert watch.measure(b"object") == 1  # a session's own memory is there
    assert session().measure(b"object") == 4
    if holder:
        holder.close()
        assert session().measure(b"object") == 7
        assert session().measure(b"object") == 7


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + bytes(2000)])
def test_a_broken_file_is_begun_anew(runs: FakeRuns, content: bytes) -> None:
    default_path().parent.mkdir()
    default_path().write_bytes(content)
    assert session().measure(b"object") == 1
    assert session().measure(b"object") == 1


def keep_many(path: Path, who: int) -> None:
    measurements.WAIT_SECONDS = 600.0  # of this process: a loaded machine may keep it from the file for long
    file = MeasurementCache(path)
    for number in range(40):
        file.keep(key_of(f"{who} {number}"), float(number))


def test_processes_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    call_at_once(keep_many, [(path, who) for who in range(4)])
    file = MeasurementCache(path)
    assert all(file.find(key_of(f"{who} {number}")) == number for who in range(4) for number in range(40))


def test_leave_does_not_change_what_a_program_is() -> None:
    plain = Program("p", "llvm", b"", Workload((Run("r"),)))
    remembered = plain.remembered()
    assert remembered.workload and remembered.workload.remembered
    assert (remembered, remembered.key) == (plain, plain.key)
    assert Program("p", "llvm", b"").remembered().workload is None


@pytest.mark.usefixtures("nothing_left")
def test_environments_remember_and_new_sessions_measure() -> None:
    runnable = replace(program("behave.c"), workload=PLAIN)
    costs = []
    for _ in range(2):
        env = Env(TASK, runnable, objective="seconds", limits=None)
        costs.append(env.reset()[1]["cost"])
        env.close()
    assert costs[0] == costs[1]
    before = default_path().stat().st_mtime_ns
    fresh = TASK.open(runnable)
    fresh.measure("seconds")
    assert fresh.stopwatch().objects_run == 1  # type: ignore[attr-defined]
    assert default_path().stat().st_mtime_ns == before
