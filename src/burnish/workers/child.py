"""The code of a worker process, which serves calls from a pipe.

This module imports neither gymnasium nor torch. Messages are pickles after an 8-byte length. A request is a
number of threads and a list of calls, each (function, arguments, whether an answer is wanted). Replies are
(kind, value) with the kinds below, in the order of the calls. A generator function answers with any number of
ITEM and one VALUE. LOST is sent even if no answer is wanted, and ends the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import heapq
import itertools
import mmap
import os
import pickle
import resource
import select
import signal
import struct
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import GeneratorType
from typing import Any

from burnish.core.errors import BurnishError, CompilerCrash, CompilerMemory, InputError
from burnish.core.program import Program
from burnish.core.session import Session, make_start, make_step
from burnish.core.trace import Trace
from burnish.core.view import Start, View

VALUE, ITEM, ERROR, LOST = range(4)  # LOST: an error after which this process must not be used

SPIN_SECONDS = 1e-3

LENGTH = struct.Struct("<Q")

TRIM_EVERY = 50  # opened programs between two calls of malloc_trim

Request = tuple[Callable[..., Any], tuple[Any, ...], bool]
Reply = tuple[int, Any]

sessions: dict[int, Session] = {}  # of this process, by the parent's number
_openings = itertools.count(1)


def main(requests: int, replies: int, lifeline: int, memory_bytes: int, spin_seconds: float) -> None:
    """Serve requests until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    _limit_memory(memory_bytes)
    poller = select.poll()
    poller.register(requests, select.POLLIN)
    while wait_for(poller, None, spin_seconds) and (request := read_message(requests)) is not None:
        threads, calls = request
        serve = Together(threads).serve if min(threads, len(calls)) > 1 else _serve
        if not serve(calls, replies):
            return


def wait_for(poller: select.poll, seconds: float | None, spin_seconds: float) -> bool:
    """Return whether input arrives within so many seconds (None: no limit).

    The function polls for `spin_seconds` before it sleeps, and yields the core to other processes meanwhile.
    Waking a sleeping core of a virtual machine costs 35 us each way, several times the cost of a small pass.
    """
    end = time.monotonic() + spin_seconds
    while time.monotonic() < end:
        if poller.poll(0):
            return True
        os.sched_yield()
    return bool(poller.poll(None if seconds is None else seconds * 1000))


def read_message(descriptor: int) -> Any:
    """Return the next message; None at the end of the stream."""
    header = _read_exactly(descriptor, LENGTH.size)
    if header is None:
        return None
    (length,) = LENGTH.unpack(header)
    body = _read_exactly(descriptor, length)
    return None if body is None else pickle.loads(body)


def write_message(descriptor: int, message: Any) -> None:
    """Write one message.

    Raises:
        InputError: the message cannot be pickled.
    """
    try:
        body = pickle.dumps(message, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        step = "worker processes import functions: define yours at the top of a module, not as a lambda"
        raise InputError(f"{error}; {step}") from None
    view = memoryview(LENGTH.pack(len(body)) + body)
    while view:
        view = view[os.write(descriptor, view) :]


def open_session(
    key: int, opener: Callable[[Program], Session], program: Program, trace: Trace
) -> tuple[str, ...]:
    """Open a session under a number and replay a trace, unless it is open already; return its actions."""
    if key not in sessions:
        if next(_openings) % TRIM_EVERY == 0:
            _give_memory_back()
        session = opener(program)
        session.replay(trace)
        sessions[key] = session
    return sessions[key].actions


def call_session(
    key: int, method: str, arguments: Sequence[Any] = (), named: Mapping[str, Any] | None = None
) -> Any:
    """Call a method of a session."""
    return getattr(sessions[key], method)(*arguments, **(named or {}))


def apply_session(key: int, action: int, site: str) -> tuple[bool, str]:
    """Apply an action, and return whether a change was reported, and the trace's entry."""
    return sessions[key].apply(action, site), sessions[key].trace[-1]


def step_session(
    key: int,
    action: int,
    site: str,
    view: tuple[tuple[str, ...], str | None, int],
    sites: tuple[str, ...],
) -> tuple[Any, ...]:
    """Make a step; arguments and result are plain tuples, which take a fifth of the time of classes.

    Unchanged sites are returned as None.
    """
    step = make_step(sessions[key], action, site, _view(*view), sites)
    return (*step[:4], None if step.sites == sites else step.sites, *step[5:])


_view = cache(View)


def fork_session(key: int, copy: int) -> None:
    """Fork a session under another number."""
    sessions[copy] = sessions[key].fork()


def start_session(
    key: int, copy: int, opening: tuple[Callable[[Program], Session], Program, Trace] | None, *arguments: Any
) -> Start:
    """Open a session, unless it is open already; fork it under another number, and start the copy."""
    if opening:
        open_session(key, *opening)
    fork_session(key, copy)
    return make_start(sessions[copy], *arguments)


def close_session(key: int) -> None:
    """Close and remove a session."""
    if session := sessions.pop(key, None):
        session.close()


def _serve(calls: Sequence[Request], replies: int) -> bool:
    """Answer calls in order; return whether this process may continue."""
    return all(_reply(call, _answer(call), replies) for call in calls)


def _reply(call: Request, answers: Iterable[Reply], replies: int) -> bool:
    for answer in answers:
        if call[2] or answer[0] == LOST:
            write_message(replies, answer)
        if answer[0] == LOST:
            return False
    return True


class Together:
    """Calls that several threads share; calls that use, make or drop the same session run in order.

    Threads take runnable calls in order, so the first unanswered call is always running.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._calls: Sequence[Request] = ()
        self._replies = -1
        self._answers: dict[int, list[Reply]] = {}  # unsent, until all earlier calls are answered
        self._sent = 0  # number of calls whose answers were sent
        self._goes_on = True
        self._after: dict[int, list[int]] = {}  # call -> the calls that depend on it
        self._waits: list[int] = []  # call -> number of unfinished calls that it depends on
        self._begin: list[int] = []  # a heap of runnable calls
        self._changed = threading.Condition()

    def serve(self, calls: Sequence[Request], replies: int) -> bool:
        """Answer all calls; return whether this process may continue."""
        self._calls, self._replies = calls, replies
        self._waits = [0] * len(calls)
        last: dict[int, int] = {}
        for number, (function, arguments, _) in enumerate(calls):
            before = {last[key] for key in _keys(function, arguments) if key in last}
            for other in before:
                self._after.setdefault(other, []).append(number)
            self._waits[number] = len(before)
            last |= dict.fromkeys(_keys(function, arguments), number)
        self._begin = [number for number, waits in enumerate(self._waits) if not waits]
        for _ in range(min(self._threads, len(self._begin)) - 1):
            _helpers().submit(self._work)
        self._work()
        with self._changed:
            self._changed.wait_for(lambda: self._sent == len(self._calls) or not self._goes_on)
        return self._goes_on

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._begin or not self._goes_on:
                    return
                number = heapq.heappop(self._begin)
            answers = list(_answer(self._calls[number]))
            with self._changed:
                self._answers[number] = answers
                for other in self._after.get(number, ()):
                    self._waits[other] -= 1
                    if not self._waits[other]:
                        heapq.heappush(self._begin, other)
                while self._goes_on and self._sent in self._answers:
                    answers = self._answers.pop(self._sent)
                    self._goes_on = _reply(self._calls[self._sent], answers, self._replies)
                    self._sent += 1
                self._changed.notify_all()


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) - 1))


def _keys(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the numbers of a call's sessions."""
    if function in (step_session, apply_session, call_session, open_session, close_session):
        return arguments[:1]
    return arguments[:2] if function in (fork_session, start_session) else ()


def _answer(call: Request) -> Iterator[Reply]:
    function, arguments, _ = call
    try:
        value = function(*arguments)
        if isinstance(value, GeneratorType):
            for item in value:
                yield ITEM, item
            value = None
        yield VALUE, value
    except MemoryError:
        yield LOST, CompilerMemory("out of memory")
    except CompilerCrash as error:
        yield LOST, error
    except BurnishError as error:
        yield ERROR, error
    except Exception:  # the sandbox's boundary: a bug in burnish, reported to the parent with its traceback
        yield LOST, RuntimeError(f"in a worker process:\n{traceback.format_exc()}")


def _read_exactly(descriptor: int, size: int) -> bytes | bytearray | None:
    """Read exactly `size` bytes: a buffered next message would be invisible to a poll."""
    data = os.read(descriptor, size)
    if len(data) == size:
        return data
    parts = bytearray(data)
    while len(parts) < size:
        chunk = os.read(descriptor, size - len(parts))
        if not chunk:
            return None
        parts += chunk
    return parts


def _give_memory_back() -> None:
    """Return freed memory of earlier programs to the system.

    glibc keeps such memory: after 2,000 episodes on 261 modules, a worker of 140 MB used only 6 MB.
    """
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _end_with_parent(lifeline: int) -> None:
    """Exit when the parent has ended, even while a compiler hangs in native code."""
    os.read(lifeline, 1)
    os._exit(0)


def _limit_memory(memory_bytes: int) -> None:
    """Limit memory to `memory_bytes` more than the interpreter and LLVM's code already map."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_mapped_bytes() + memory_bytes, resource.RLIM_INFINITY))


def _mapped_bytes() -> int:
    """Return the size of this process's address space."""
    page = resource.getpagesize()
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * page
    except OSError:  # a sandbox without /proc: find the least limit under which a page can be mapped
        too_small, enough = 0, 1 << 47
        while enough - too_small > page:
            limit = (too_small + enough) // 2
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            try:
                mmap.mmap(-1, page).close()
                enough = limit
            except (OSError, MemoryError):
                too_small = limit
        return enough
