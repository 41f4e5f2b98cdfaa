"""One budget for a whole build, shared out among its files: a small file with a lock beside the build log.

Nobody knows how many files are to come. So each file gets its part by clang's own time: of what the largest
build of this log took, less what this one has done, or, where that is not known, of as much again as was
done and ten times the file at least. It sets that aside at once and gives back what it does not use.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish.core.clock import Clock
from burnish.driver.build_log import default_log
from burnish.driver.requests import DriverOptions

UNSEEN = 10.0  # times the file at hand that is assumed to come at least, in a first build
LEAST_SECONDS = 0.05  # shorter searches are none


@dataclass
class BuildShare:
    """What a build has left, and how much of it is done."""

    build: str  # which build: see build_of
    seconds: float  # the whole budget
    left: float  # of it
    done: float = 0.0  # seconds of clang's for the files that came by
    last: float = 0.0  # what that came to in the largest build before this one; 0: unknown

    def share(self, clang_seconds: float) -> float:
        """Set aside and return what a file gets for which clang took so long; 0 where that is too little."""
        to_come = max(self.last - self.done, 0.0) or max(self.done, UNSEEN * clang_seconds)
        share = self.left * min(1.0, clang_seconds / max(to_come, clang_seconds, 1e-9))
        self.done += clang_seconds
        if share < LEAST_SECONDS:
            return 0.0
        self.left -= share
        return share


@contextmanager
def share(options: DriverOptions, clang_seconds: float, clock: Clock) -> Iterator[float]:
    """Give a file's share of the build's budget, in seconds; what it does not take of it goes back."""
    assert options.build_seconds is not None
    path = _beside(options.log or default_log())
    build = build_of(options.caller or os.getpid())
    with _locked(path, build, options.build_seconds) as state:
        seconds = state.share(clang_seconds)
    start = clock.now()
    try:
        yield seconds
    finally:
        unused = max(0.0, seconds - (clock.now() - start))
        with _locked(path, build, options.build_seconds) as state:
            state.left += unused


def build_of(pid: int) -> str:
    """Return the name of the build that a process belongs to: its ancestor below the session's first process.

    That is the make, ninja or script that a shell started, by its number and when it began.
    """
    while True:
        parent, session, began = _status(pid)
        if parent <= 1 or pid == session or parent == session:
            return f"{pid} {began}"
        pid = parent


def _status(pid: int) -> tuple[int, int, str]:
    """Return a process' parent, its session and when it began (proc(5), /proc/pid/stat)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0, 0, ""
    return int(fields[1]), int(fields[3]), fields[19]


def _beside(log: Path) -> Path:
    return log.with_name(f"{log.name}.budget")


@contextmanager
def _locked(path: Path, build: str, seconds: float) -> Iterator[BuildShare]:
    """Open the state, and write it back, while no other process of the build does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        state = _read(file.read(), build, seconds)
        yield state
        file.seek(0)
        file.truncate()
        file.write(json.dumps(asdict(state)) + "\n")


def _read(text: str, build: str, seconds: float) -> BuildShare:
    try:
        state = BuildShare(**json.loads(text))
    except (ValueError, TypeError):  # a new file, or one of another version
        return BuildShare(build, seconds, seconds)
    if state.build != build or state.seconds != seconds:
        return BuildShare(build, seconds, seconds, last=max(state.done, state.last))
    return state
