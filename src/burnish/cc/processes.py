"""clang as a child process, and signals as exceptions."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from burnish.cc.requests import KeptReference

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_SECONDS = 5.0  # for a child to end after a signal
LOOKS, LOOK_SECONDS = 5, 0.002  # for idle processors: other processes run for a moment now and then

# Variables that make clang write more files than its arguments name.
NOISY = {"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES", "CC_PRINT_HEADERS", "CC_PRINT_HEADERS_FILE"}


class Interrupted(BaseException):
    """A signal that asks burnish to stop: the process cleans up, then ends by the same signal."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """Raise Interrupted at the first SIGINT, SIGTERM or SIGHUP; ignored signals stay ignored."""
    heard = [signum for signum in STOPPING if signal.getsignal(signum) is not signal.SIG_IGN]

    def interrupt(signum: int, _frame: FrameType | None) -> NoReturn:
        for other in heard:
            signal.signal(other, signal.SIG_IGN)  # nothing may interrupt the cleanup
        raise Interrupted(signum)

    before = {signum: signal.signal(signum, interrupt) for signum in heard}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def die_of(signum: int) -> int:
    """End this process by the signal, as its parent expects; return a shell's code if that fails."""
    signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)
    return 128 + signum


def replace_by(command: Sequence[str | Path]) -> NoReturn:
    """Replace this process by a command."""
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores these, and the command would inherit that
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execv(command[0], [os.fspath(word) for word in command])


def run(command: Sequence[str | Path]) -> int:
    """Run a command on this process's input and output; a negative code is the signal that ended it."""
    with _child(subprocess.Popen(command)) as process:
        return process.wait()


def run_and_read(command: Sequence[str | Path]) -> tuple[int, str]:
    """Run a command; return its exit code, and its errors, which are not printed."""
    with _child(subprocess.Popen(command, stderr=subprocess.PIPE)) as process:
        _, errors = process.communicate()
    return process.returncode, os.fsdecode(errors)


def run_quietly(command: Sequence[str | Path], deadline_seconds: float) -> None:
    """Run a command without input and without visible output.

    Raises:
        KeptReference: the command failed, or did not end before the deadline.
    """
    started = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name not in NOISY},
    )
    with _child(started) as process:
        try:
            _, errors = process.communicate(timeout=deadline_seconds)
        except subprocess.TimeoutExpired:
            raise KeptReference(f"{_name(command)} did not end within {deadline_seconds:.0f} s") from None
    if process.returncode:
        lines = os.fsdecode(errors).splitlines()
        said = next((line for line in lines if "error:" in line), lines[0] if lines else "without a word")
        raise KeptReference(f"{_name(command)} failed with code {process.returncode}: {said}")


def idle_processors() -> int:
    """Return the number of processors for this process now: its own, and those on which nothing else runs."""
    ours, fewest = len(os.sched_getaffinity(0)), math.inf
    for _ in range(LOOKS):
        try:
            running = Path("/proc/loadavg").read_text().split()[3]  # "1/123", with this process: proc(5)
        except OSError:  # a root folder without /proc
            return ours
        fewest = min(fewest, int(running.partition("/")[0]))
        time.sleep(LOOK_SECONDS)
    return max(1, ours - max(0, int(fewest) - 1))


def stamp(path: Path) -> tuple[int, int] | None:
    """Return values that change when clang writes a file; None if it is not a regular file."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


@contextlib.contextmanager
def _child(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """End a child with the block; after an interrupt it gets the same signal, and time to clean up."""
    try:
        yield process
    except Interrupted as interrupted:
        process.send_signal(interrupted.signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_SECONDS)
        raise
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stderr:
            process.stderr.close()


def _name(command: Sequence[str | Path]) -> str:
    step = str(command[1]) if len(command) > 1 and str(command[1]).startswith("-cc1") else ""
    return f"{Path(command[0]).name} {step}".rstrip()
