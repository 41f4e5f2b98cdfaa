"""The optimizer in a child process, where it may crash, hang or print without harm to the build."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import pickle
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from burnish.cc import processes
from burnish.cc.requests import KeptReference

T = TypeVar("T")

LOAD = 20  # wall time allowed for a step on a busy machine, in units of its processor time
LEAST_STEP_SECONDS = 60.0  # wall time
# Modules that the processes of commands share. One for a unit of a whole program needs few.
OF_UNITS = ("burnish.cc.back_end", "burnish.cc.link.units", "burnish.cc.own_trials")
OF_SEARCHES = (
    *OF_UNITS,
    "burnish.cc.machine_code",
    "burnish.cc.objects",
    "burnish.cc.optimizer",
    "burnish.cc.variants",
    "burnish.policies.sequence_values",
)
LONGEST_SECONDS = 24 * 3600.0  # wall time of a step without which a build has no object


def load(names: Sequence[str] = OF_SEARCHES) -> None:
    """Import what searches need, once for all processes that are forked from this one."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process that forks must have one thread
    for name in names:  # by name, because these modules import this one
        importlib.import_module(name)


def is_loaded(names: Sequence[str] = OF_SEARCHES) -> bool:
    """Return whether `load` has been called here."""
    return all(name in sys.modules for name in names)


class LeftToLoaded(Exception):
    """The command is left to a process that has imported some modules; its object has not been written.

    Attributes:
        names: Of the modules.
    """

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.names = names


def load_or_leave(names: Sequence[str] = OF_SEARCHES) -> None:
    """Import what searches need, or leave the command to a process of the fork server that has done so.

    Raises:
        LeftToLoaded: the server is to import it once, instead of this process.
    """
    if _Server.loads and not is_loaded(names):
        raise LeftToLoaded(names)
    load(names)


def expect_server_to_load() -> None:
    """Let `load_or_leave` leave commands to the fork server."""
    _Server.loads = True


class _Server:
    loads = False  # True in a process that the fork server began before it has imported searches


@dataclass(frozen=True)
class Guard:
    """Deadlines in wall time, which only a hung process reaches, and the folder for temporary files."""

    workspace: Path
    step_seconds: float
    search_seconds: float

    def run(self, command: tuple[str, ...]) -> None:
        """Run a command as one step.

        Raises:
            KeptReference: the command failed, or did not end before the deadline.
        """
        processes.run_quietly(command, self.step_seconds)

    def step(self, call: Callable[[], T]) -> T:
        """Return the result of a step; see Running."""
        return guarded(call, self.step_seconds, self.workspace)

    def search(self, call: Callable[[], T]) -> T:
        """Return the result of a search; see Running."""
        return guarded(call, self.search_seconds, self.workspace)

    def steps(self, calls: Iterable[Callable[[], T]], most: int) -> Iterator[T | KeptReference]:
        """Yield the results of steps, several at a time; see several."""
        return several(calls, most, self.step_seconds, self.workspace)


def guarded(call: Callable[[], T], deadline_seconds: float, workspace: Path) -> T:
    """Return the result of a call in a forked child; see Running.

    Raises:
        KeptReference: see Running.answer.
    """
    with Running(call, deadline_seconds, workspace) as running:
        return running.answer()


def several(
    calls: Iterable[Callable[[], T]], most: int, deadline_seconds: float, workspace: Path
) -> Iterator[T | KeptReference]:
    """Yield the results of calls in forked children as they end, or why a call has none.

    At most `most` children run at a time; a call is taken from the iterable when its child can begin.
    """
    to_come = iter(calls)
    with contextlib.ExitStack() as ended_here:
        running: list[Running[T]] = []
        while True:
            for call in itertools.islice(to_come, most - len(running)):
                running.append(ended_here.enter_context(Running(call, deadline_seconds, workspace)))
            if not running:
                return
            ready, _, _ = select.select(running, (), (), running[0].seconds_left())
            running.remove(first := ready[0] if ready else running[0])
            try:
                result: T | KeptReference = first.answer()
            except KeptReference as why:
                result = why
            yield result


class Running(Generic[T]):
    """A call in a forked child with its own process group; it ends with the block.

    The child's temporary files go to the workspace. All processes of the group are killed when the child has
    answered, at the end of the block, and when this process ends.
    """

    def __init__(self, call: Callable[[], T], deadline_seconds: float, workspace: Path) -> None:
        self._deadline_seconds = deadline_seconds
        self._end = time.monotonic() + deadline_seconds
        self._answers, answer = os.pipe()
        lifeline, self._held = os.pipe()
        self._child = os.fork()
        if not self._child:
            os.close(self._answers)
            os.close(self._held)
            _answer(call, answer, lifeline, workspace)
        os.close(answer)
        os.close(lifeline)
        self._status: int | None = None  # as waitpid returns it; None: it has not been waited for
        with contextlib.suppress(OSError):
            os.setpgid(self._child, self._child)  # the child does this, too, because either may run first

    def fileno(self) -> int:
        """Return the file that can be read when the child answers or ends, for select."""
        return self._answers

    def seconds_left(self) -> float:
        """Return the seconds until the deadline."""
        return max(0.0, self._end - time.monotonic())

    def answer(self) -> T:
        """Wait for the result.

        Raises:
            KeptReference: the call raised any error, its process died, or the deadline passed.
        """
        try:
            message = _read(self._answers, self._end)
            if message is None:
                raise KeptReference(f"the optimizer did not answer within {self._deadline_seconds:.0f} s")
        finally:
            status = self._killed()
        if not message:
            how = (
                f"signal {signal.Signals(os.WTERMSIG(status)).name}"
                if os.WIFSIGNALED(status)
                else f"exit code {os.WEXITSTATUS(status)}"
            )
            raise KeptReference(f"the optimizer died: {how}")
        result: T
        why, result = pickle.loads(message)
        if why:
            raise why
        return result

    def _killed(self) -> int:
        """End the child, and return its status as waitpid does."""
        if self._status is None:
            os.close(self._answers)
            os.close(self._held)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child, signal.SIGKILL)
            _, self._status = os.waitpid(self._child, 0)
        return self._status

    def __enter__(self) -> Running[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self._killed()


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Send what the block prints, by LLVM too, to nowhere."""
    with contextlib.ExitStack() as stack, Path(os.devnull).open("wb") as nowhere:
        for standard in (1, 2):
            kept = os.dup(standard)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, standard)
            os.dup2(nowhere.fileno(), standard)
        yield


def _answer(call: Callable[[], Any], answer: int, lifeline: int, workspace: Path) -> NoReturn:
    """Run the call, send the answer, and end the child."""
    code = 1
    try:
        os.setpgid(0, 0)
        for signum in processes.STOPPING:
            signal.signal(signum, signal.SIG_DFL)
        silence = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(silence, standard)
        tempfile.tempdir = os.environ["TMPDIR"] = str(workspace)
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads would count as memory, and this process forks
        threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
        try:
            message = pickle.dumps((None, call()))
        except Exception as error:  # the sandbox's boundary: after any error clang's object stays
            failed = f"the optimizer failed: {type(error).__name__}: {error}"
            why = error if isinstance(error, KeptReference) else KeptReference(failed)
            message = pickle.dumps((why, None))
        with os.fdopen(answer, "wb") as pipe:
            pipe.write(len(message).to_bytes(8, "little") + message)
        code = 0
    finally:
        os._exit(code)


def _end_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def _read(answers: int, end: float) -> bytes | None:
    """Return one message; b"" if the child died; None after the deadline.

    The message begins with its length. The end of the pipe is not enough: a grandchild may keep it open.
    """
    data = bytearray()
    while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "little"):
        ready, _, _ = select.select([answers], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return None
        chunk = os.read(answers, 1 << 20)
        if not chunk:
            return b""
        data += chunk
    return bytes(data[8:])
