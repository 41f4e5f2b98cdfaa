"""Programs do what they like; a run ends, says how, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from burnish.core.errors import InputError, MissingTool, UnknownName
from burnish.llvm.run import RunLimits, execute, folder
from burnish.llvm.run.running import COUNTERS, scaled
from tests.conftest import children
from tests.llvm.run.programs import built, run
from tests.waiting import wait_until

SHORT = RunLimits(timeout_seconds=0.5)


@pytest.fixture(autouse=True)
def executable(request: pytest.FixtureRequest) -> Path:
    """Return behave, built before nothing_left looks."""
    path = built()
    request.getfixturevalue("nothing_left")
    return path


def test_output_and_exit_code(executable: Path) -> None:
    done = execute(executable, run("work", "1000"))
    state = 1
    for _ in range(1000):
        state = (state * 1664525 + 1013904223 + (state >> 3)) % 2**32
    assert (done.output, done.status, done.ending) == (f"{state}\n".encode(), 0, "exit code 0")
    assert execute(executable, run("exit", "3")).status == 3


def test_input_of_any_size_arrives(executable: Path) -> None:
    content = os.urandom(1 << 20)
    assert execute(executable, run("copy", stdin=content)).output == content


def test_files_are_there(executable: Path) -> None:
    files = [("data.txt", b"here"), ("deep/er", b"there")]
    assert execute(executable, run("show", "data.txt"), files=files).output == b"here"
    assert execute(executable, run("show", "deep/er"), files=files).output == b"there"
    assert execute(executable, run("show", "data.txt")).status == 2


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "."])
def test_files_stay_in_the_folder(executable: Path, name: str) -> None:
    with pytest.raises(InputError, match="inside the folder"):
        execute(executable, run("work"), files=[(name, b"")])


def test_environment_is_what_is_given(executable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING", "set")
    assert execute(executable, run("environment")).output == b""
    assert execute(executable, run("environment"), environment=["A=1", "B="]).output == b"A=1\nB=\n"


def test_work_takes_time_and_waiting_takes_none(executable: Path) -> None:
    """No bounds on the clock: only that the one is counted and the other is not."""
    spun = execute(executable, run("spin"), limits=SHORT)
    hung = execute(executable, run("hang"), limits=SHORT)
    assert hung.cpu_seconds < spun.cpu_seconds
    assert min(spun.wall_seconds, hung.wall_seconds) >= SHORT.timeout_seconds


LATE = "not finished within 0.5 seconds"


@pytest.mark.parametrize(
    ("word", "limits", "ending"),
    [
        ("hang", SHORT, LATE),
        ("spin", SHORT, LATE),
        ("ignore", SHORT, LATE),
        ("print", RunLimits(written_bytes=100_000), "signal SIGXFSZ"),
        ("fill", RunLimits(written_bytes=1 << 24), "more than 16777216 bytes of files"),
        ("eat", RunLimits(memory_bytes=1 << 28), "signal SIGSEGV"),  # it writes to what malloc did not give
    ],
)
def test_what_goes_on_without_end_is_stopped(
    executable: Path, word: str, limits: RunLimits, ending: str
) -> None:
    done = execute(executable, run(word), limits=limits)
    assert (done.ending, bool(done.killed)) == (ending, not ending.startswith("signal"))
    assert not done.killed or done.status == -signal.SIGKILL
    assert len(done.output) == (100_000 if word == "print" else 0)


def test_crash_is_told_with_its_last_words(executable: Path) -> None:
    done = execute(executable, run("complain"))
    assert (done.ending, done.errors) == ("signal SIGABRT", b"out of ideas\n")


def test_child_that_is_left_behind_is_killed(executable: Path) -> None:
    before = processes()
    assert execute(executable, run("leave")).output == b"left\n"
    assert gone(before)


def unlocked(path: Path) -> bool:
    """Return whether no process holds a folder's lock."""
    lock = folder._lock(path)
    if lock is not None:
        os.close(lock)
    return lock is not None


def test_program_dies_with_a_killed_parent(executable: Path) -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from pathlib import Path\nfrom burnish.core.program import Run\n"
        "from burnish.llvm.run import execute\n"
        f"print(flush=True)\nexecute(Path({str(executable)!r}), Run('', ('hang',)))"
    )
    before = processes()
    kept = Path(tempfile.gettempdir())
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout and parent.stdout.readline()
        while not children(parent.pid):
            time.sleep(0.01)
        parent.kill()
        parent.wait()
        assert gone(before)
    (left,) = kept.iterdir()  # what the killed process left ...
    wait_until(lambda: unlocked(left))  # a process that is gone may hold its lock a moment longer
    folder._sweep.cache_clear()
    execute(executable, run("work"))
    assert not list(kept.iterdir())  # ... goes when another begins


def test_interruption_leaves_nothing(executable: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            execute(executable, run("hang"))
    finally:
        signal.signal(signal.SIGALRM, old)


def test_what_is_no_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        execute(tmp_path / "nothing", run("work"))
    (tmp_path / "text").write_bytes(b"text")
    with pytest.raises(InputError, match="Permission denied"):
        execute(tmp_path / "text", run("work"))
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(InputError, match="Exec format error"):
        execute(tmp_path / "text", run("work"))


def test_program_is_bound_to_a_core(executable: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    assert execute(executable, run("work"), limits=RunLimits(cpu=cpu)).status == 0
    anywhere = RunLimits(cpu=1023)  # there is no such core
    assert execute(executable, run("work"), limits=anywhere).status == 0


def test_counters_count_the_program_and_not_us(executable: Path) -> None:
    """task-clock is the kernel's own and goes the way of the hardware's counters."""
    few = execute(executable, run("work", "10"), counters=["task-clock"]).counters["task-clock"]
    many = execute(executable, run("work", "30000000"), counters=["task-clock"]).counters["task-clock"]
    assert 0 < few < many


@pytest.mark.parametrize("name", ["cycles", "instructions"])
def test_hardware_counter_counts_or_says_why_not(executable: Path, name: str) -> None:
    try:
        few = execute(executable, run("work", "1000"), counters=[name])
    except MissingTool as error:
        assert "seconds" in str(error) or "perf_event_paranoid" in str(error)
        return
    many = execute(executable, run("work", "1000000"), counters=[name])
    assert 1000 < few.counters[name] < many.counters[name]


def test_counters_that_took_turns_are_extrapolated() -> None:
    def reading(*numbers: int) -> bytes:
        return b"".join(number.to_bytes(8, "little") for number in numbers)

    assert scaled(reading(100, 50, 50)) == 100
    assert scaled(reading(100, 60, 20)) == 300
    assert scaled(reading(0, 60, 0)) == 0


def test_unknown_counter_is_an_error(executable: Path) -> None:
    with pytest.raises(UnknownName, match="cycles"):
        execute(executable, run("work"), counters=["cycle"])
    assert "cycles" in COUNTERS


def processes() -> set[int]:
    """Return the numbers of all processes of behave that run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "exe").readlink() == built():
                found.add(int(path.name))
        except OSError:  # it ended, or is not ours
            continue
    return found


def gone(before: set[int]) -> bool:
    """Wait for all processes of behave that were not there before to end."""
    wait_until(lambda: processes() <= before)
    return True
