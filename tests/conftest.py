"""What every folder's tests use."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from burnish.core.program import Program
from burnish.core.task import Opener
from burnish.workers import fork_server
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits

# Images of containers turn bytecode off. Hundreds of short processes then compile burnish anew, which is a
# third of their time, and collecting the tests takes twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Claims, not a lottery: the same examples every time, and no clock among the assertions.
settings.register_profile(
    "burnish",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)
settings.load_profile("burnish")

# What is called in workers is often in a test's own file, which imports these: 0.2 seconds for each of them.
fork_server.KNOWN = (*fork_server.KNOWN, "pytest", "burnish.evaluation.validate", "burnish.evaluation.timing")

OpenSandbox = Callable[..., Sandbox]


def pytest_configure(config: pytest.Config) -> None:
    """Keep what burnish remembers of this machine out of the user's cache, and out of other processes'.

    And let each process use one core: torch's and numpy's threads wait for each other by spinning, and
    pytest-xdist has a process on every core. And hear Ctrl-C: a shell without job control starts what ends in
    `&` with SIGINT ignored, and every process of the tests would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("MPLCONFIGDIR", str(cache / "matplotlib"))  # its list of fonts takes seconds
    own = tempfile.TemporaryDirectory(prefix="burnish-tests-")
    os.environ["XDG_CACHE_HOME"] = own.name
    config.add_cleanup(own.cleanup)


def pytest_sessionfinish() -> None:
    """Let the interpreter take down what was frozen: nanobind counts what it leaves."""
    gc.unfreeze()


@pytest.fixture
def without_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings write an empty picture of their curves, which in a small one would take longest."""
    monkeypatch.setattr("burnish.learning.training.loop.plot_log", lambda log, picture: picture.touch())


@pytest.fixture
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assert that the test leaves no child process, open descriptor or temporary file behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    fork_servers()  # which stay
    gc.collect()
    gc.freeze()  # what is there now is not looked at again: torch and its like make a collection take seconds
    before = children(), descriptors()
    yield
    gc.collect()
    assert (children(), descriptors()) == before
    assert not list(temporary.iterdir())


@pytest.fixture
def open_sandbox(nothing_left: None) -> Iterator[OpenSandbox]:
    """Return a function that opens a program in a sandbox; all are shut down, and leave nothing."""
    opened: list[Sandbox] = []

    def open_one(opener: Opener, program: Program, limits: Limits = Limits()) -> Sandbox:
        opened.append(Sandbox(opener, program, limits=limits))
        return opened[-1]

    yield open_one
    for session in opened:
        session.shutdown()
    opened.clear()


def children(parent: int | None = None) -> set[int]:
    """Return the numbers of a process' children, those nobody waited for included.

    By default ours, and those that were forked for us: not the processes that do that.
    """
    parents = {os.getpid(), *fork_servers()} if parent is None else {parent}
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            its_parent = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended while we looked
            continue
        if its_parent in parents:
            found.add(int(status.parent.name))
    return found - (fork_servers() if parent is None else set())


def fork_servers() -> set[int]:
    """Return the numbers of the processes that fork for this one, both of which are started."""
    return {fork_server.fork_server("here").pid, fork_server.fork_server("elsewhere").pid}


def descriptors() -> int:
    """Return how many file descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
