"""One run of an executable that may crash, hang, use too much memory or print without end."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import resource
import select
import shlex
import signal
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish import _native
from burnish.core.errors import InputError, MissingTool, UnknownName
from burnish.core.program import Run
from burnish.llvm.run.emulated import counting
from burnish.llvm.run.folder import temporary_folder

GIB = 1 << 30
MIB = 1 << 20

# Linux perf events of programs that this thread starts; linux/perf_event.h: (type, config).
INSTRUCTIONS = "instructions"
COUNTERS = {
    "cycles": (0, 0),
    INSTRUCTIONS: (0, 1),
    "task-clock": (1, 1),  # nanoseconds; counted by the kernel, so every machine has it
}
_READING = struct.Struct("QQQ")  # value, time enabled, time running
LOOK_SECONDS = 0.1  # interval between checks of the bytes that a running program has written


@dataclass(frozen=True)
class RunLimits:
    """Resource limits of one run; a program that exceeds them is killed."""

    timeout_seconds: float = 10.0
    memory_bytes: int | None = 2 * GIB  # of address space; None for sanitizers, which reserve terabytes
    written_bytes: int = 64 * MIB  # to each of its standard streams, and to files
    cpu: int | None = None  # the core to bind the program to, if that is allowed


PATIENT = RunLimits(timeout_seconds=120.0)  # for programs that are known to end, even on a busy machine


@dataclass(frozen=True)
class Execution:
    """Result of a run."""

    output: bytes = field(repr=False)  # standard output
    errors: bytes = field(repr=False)  # standard error
    status: int  # exit code, or minus the number of the signal that ended it
    killed: str  # the reason why burnish killed it; "" if burnish did not
    cpu_seconds: float  # in user code and in the kernel, of the program and of child processes it waited for
    wall_seconds: float
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def ending(self) -> str:
        """A description of the program's end, in words."""
        if self.killed:
            return self.killed
        if self.status >= 0:
            return f"exit code {self.status}"
        names = {item.value: item.name for item in signal.Signals}
        return f"signal {names.get(-self.status, -self.status)}"


def execute(
    executable: Path,
    run: Run,
    *,
    files: Sequence[tuple[str, bytes]] = (),
    environment: Sequence[str] = (),
    limits: RunLimits = RunLimits(),
    counters: Sequence[str] = (),
    emulator: Sequence[str] = (),
) -> Execution:
    """Run an executable in a new temporary folder, which is removed afterwards.

    The program leads a new session. After its end, after the timeout, or when it has written too much,
    its whole process group is killed. It is also killed when the calling thread ends. Only processes that it
    moves to another session escape.

    `files` are put into the program's folder: names, which may include folders, and contents. `environment`
    is the whole environment, as NAME=value. `counters` are names in COUNTERS to read. `emulator` is a command
    that runs an executable for another machine (burnish.llvm.run.emulated). It has no limit on memory, and
    INSTRUCTIONS is its only counter.

    Raises:
        InputError: the executable cannot be started, or a file's name leads out of the folder.
        MissingTool: the machine has no such counters, or the emulator counts nothing.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        _write_files(folder, files)
        streams = []
        for name in ("stdin", "stdout", "stderr"):
            streams.append(os.memfd_create(name))
            stack.callback(os.close, streams[-1])
        given, output, errors = streams
        _write(given, run.stdin)
        readings: dict[str, int] = {}  # descriptors; they count user code, from exec on
        count = None
        if emulator and counters:
            count = stack.enter_context(temporary_folder()) / "count"
            emulator = counting(emulator, count)
        for name in () if emulator else counters:
            readings[name] = _open_counter(name)
            stack.callback(os.close, readings[name])
        start = time.monotonic()
        path = str(executable.absolute())
        number = _native.spawn(
            emulator[0] if emulator else path,
            [*emulator, path, *run.arguments] if emulator else ["program", *run.arguments],
            environment,
            str(folder),
            given,
            output,
            errors,
            _resource_limits(replace(limits, memory_bytes=None) if emulator else limits),
            -1 if limits.cpu is None else limits.cpu,
        )
        if number < 0:
            raise InputError(f"{executable}: cannot be run: {os.strerror(-number)}")
        try:
            killed = _wait(number, folder, limits, start)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(number, signal.SIGKILL)  # before wait4: until then the process keeps its number
            _, status, usage = os.wait4(number, 0)
        written = [os.pread(item, limits.written_bytes, 0) for item in (output, errors)]
        if count and not killed and os.WIFEXITED(status) and not count.is_file():
            said = written[1].decode(errors="replace").strip().partition("\n")[0]
            raise MissingTool(f"the emulator counts no instructions: {emulator[0]}: {said}")
        return Execution(
            output=written[0],
            errors=written[1],
            status=os.waitstatus_to_exitcode(status),
            killed=killed,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            wall_seconds=time.monotonic() - start,
            counters=(
                {INSTRUCTIONS: int(count.read_text())}
                if count and count.is_file()
                else {name: scaled(os.read(item, _READING.size)) for name, item in readings.items()}
            ),
        )


def _wait(number: int, folder: Path, limits: RunLimits, start: float) -> str:
    """Wait for the program's end, or for a reason to kill it; return the reason, or "" after its end."""
    descriptor = os.pidfd_open(number)
    try:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        while True:
            left = start + limits.timeout_seconds - time.monotonic()
            if poller.poll(max(0.0, min(left, LOOK_SECONDS)) * 1000):
                return ""
            if left <= 0:
                return f"not finished within {limits.timeout_seconds:g} seconds"
            if _written_bytes(folder) > limits.written_bytes:
                return f"more than {limits.written_bytes} bytes of files"
    finally:
        os.close(descriptor)


def _resource_limits(limits: RunLimits) -> list[tuple[int, int]]:
    pairs = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.written_bytes),
        (resource.RLIMIT_CPU, math.ceil(limits.timeout_seconds) + 1),
    ]
    if limits.memory_bytes is not None:
        pairs.append((resource.RLIMIT_AS, limits.memory_bytes))
    allowed = {kind: resource.getrlimit(kind)[1] for kind, _ in pairs}
    return [
        (kind, value if allowed[kind] == resource.RLIM_INFINITY else min(value, allowed[kind]))
        for kind, value in pairs
    ]


def _write_files(folder: Path, files: Sequence[tuple[str, bytes]]) -> None:
    for name, content in files:
        path = folder / name
        if folder not in path.resolve().parents:
            raise InputError(f"{name}: expected a name inside the folder in which the program runs")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)


def _written_bytes(folder: Path) -> int:
    """Return the disk space of the files below a folder, in bytes; files that vanish meanwhile count 0."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(where, name).lstat().st_blocks * 512
    return total


def scaled(reading: bytes) -> int:
    """Return a reading's value; if the kernel multiplexed counters, extrapolate it to the whole time."""
    value, enabled, running = map(int, _READING.unpack(reading))
    return value if running in (0, enabled) else round(value * enabled / running)


def _open_counter(name: str) -> int:
    if name not in COUNTERS:
        raise UnknownName.among("counter", name, COUNTERS)
    descriptor = _native.open_counter(*COUNTERS[name])
    if descriptor >= 0:
        return descriptor
    why = os.strerror(-descriptor)
    if -descriptor in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENOSYS):
        raise MissingTool(
            f"this machine has no counter of {name} ({why}), like most virtual machines: measure "
            "'seconds' instead"
        )
    raise MissingTool(
        f"the counter of {name} cannot be read ({why}); allow it with: sysctl kernel.perf_event_paranoid=2"
    )


def read_run(text: str) -> Run:
    """Read one run: arguments as in a shell, optionally followed by `< FILE`."""
    reader = shlex.shlex(text, posix=True, punctuation_chars="<")  # like a shell, allow "<" without spaces
    reader.whitespace_split, reader.commenters = True, ""
    try:
        words = list(reader)
    except ValueError as error:
        raise InputError(f"--run {text!r}: {error}") from None
    if "<" not in words:
        return Run(text, tuple(words))
    if words[-2:-1] != ["<"]:
        raise InputError(f"--run {text!r}: expected arguments, optionally followed by '< FILE'")
    try:
        return Run(text, tuple(words[:-2]), stdin=Path(words[-1]).read_bytes())
    except OSError as error:
        raise InputError(f"--run {text!r}: {words[-1]}: {error.strerror}") from None
