"""One budget for a whole build, shared by its files; its state is a small file with a lock by the build log.

The number of remaining files is unknown. So a file's share is the rest of the budget, times clang's time for
this file, divided by an estimate of clang's remaining time. The estimate is the time of the largest build in
this folder, less this build's time so far. Without such a build it is this build's time so far, and at least
ten times that of the file. A file sets its share aside at once, and gives back the unused part. A share that
is too short finds nothing, so a budget that is too small for all files goes to the first ones.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from burnish.cc.build_log import default_log
from burnish.cc.requests import DriverOptions
from burnish.core.clock import Clock

UNSEEN = 10.0  # least estimate of clang's remaining time in a first build, in units of the file's
LEAST_SECONDS = 0.05  # a shorter search is useless
LEAST_MULTIPLE = 2.0  # of clang's time for a file: for a search's reference and its first candidates
MOST_PLACES = 64  # folders whose builds are stored; the latest ones


@dataclass
class BuildShare:
    """The state of a build's budget."""

    build: str  # the build's name: see build_of
    seconds: float  # the whole budget
    left: float  # seconds of the budget that are left
    done: float = 0.0  # clang's seconds for the files so far
    last: float = 0.0  # clang's seconds for the largest earlier build in the same folder; 0: unknown
    place: str = ""  # that folder
    largest: dict[str, float] = field(default_factory=dict)  # clang's seconds, as `last`, by folder

    def share(self, clang_seconds: float) -> float:
        """Set aside and return a file's share in seconds, by clang's time for it; 0 if that is too little."""
        to_come = max(self.last - self.done, 0.0) or max(self.done, UNSEEN * clang_seconds)
        share = self.left * min(1.0, clang_seconds / max(to_come, clang_seconds, 1e-9))
        share = max(share, LEAST_MULTIPLE * clang_seconds)
        self.done += clang_seconds
        if share < LEAST_SECONDS or share > self.left:
            return 0.0
        self.left -= share
        return share


@contextmanager
def share(options: DriverOptions, clang_seconds: float, clock: Clock) -> Iterator[float]:
    """Yield a file's share of the build's budget, in seconds; the unused part goes back."""
    assert options.build_seconds is not None
    log = options.log or default_log()
    path = log.with_name(f"{log.name}.budget")
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


class BuildOrigin(NamedTuple):
    """A build, and the folder in which it was started."""

    name: str
    place: str


def build_of(pid: int) -> BuildOrigin:
    """Return the build that a process belongs to: its ancestor below the session's first process.

    That is the make, ninja or script that a shell started. Its name is its process number and start time.
    """
    while True:
        parent, session, began = _status(pid)
        if parent <= 1 or pid == session or parent == session:
            try:
                place = str(Path(f"/proc/{pid}/cwd").readlink())
            except OSError:  # it has ended, or is another user's
                place = ""
            return BuildOrigin(f"{pid} {began}", place)
        pid = parent


def _status(pid: int) -> tuple[int, int, str]:
    """Return a process's parent, session and start time (proc(5), /proc/pid/stat)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0, 0, ""
    return int(fields[1]), int(fields[3]), fields[19]


@contextmanager
def _locked(path: Path, build: BuildOrigin, seconds: float) -> Iterator[BuildShare]:
    """Yield the state, and write it back; a lock keeps other processes out meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        state = read_state(file.read(), build, seconds)
        yield state
        file.seek(0)
        file.truncate()
        file.write(json.dumps(asdict(state)) + "\n")


def read_state(text: str, build: BuildOrigin, seconds: float) -> BuildShare:
    """Return the state of a build from a file's text; a new budget if the text is of another build."""
    try:
        state = BuildShare(**json.loads(text))
    except (ValueError, TypeError):  # a new file, or one of another version
        return BuildShare(build.name, seconds, seconds, place=build.place)
    if state.build == build.name and state.seconds == seconds:
        return state
    largest = {place: total for place, total in state.largest.items() if place != state.place}
    largest[state.place] = max(state.done, state.last)
    largest = dict(list(largest.items())[-MOST_PLACES:])
    last = largest.get(build.place, 0.0)
    return BuildShare(build.name, seconds, seconds, last=last, place=build.place, largest=largest)
