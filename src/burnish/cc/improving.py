"""More search for the objects that builds remember, in the background; the next build takes what it finds.

The compilation with the least search so far, in units of the compiler's own time for it, is next. A step
searches as long as all steps before it, and at least FIRST times as long as the compiler takes. It begins
with the best trace so far, by another seed. A file that was changed since is left to the next build.
"""

from __future__ import annotations

import contextlib
import heapq
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path

from burnish.cc.command_key import Key
from burnish.cc.commands.cc import default_optimizer, parse
from burnish.cc.file_budget import FileBudget
from burnish.cc.improve import improve, improve_own
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.kept import Remembered, contents_of, memory_in
from burnish.cc.outcomes import Build, Outcome
from burnish.cc.requests import STACK_LIMIT, Compiled, KeptReference
from burnish.core.clock import PROCESSORS
from burnish.core.errors import InputError

FIRST, LONGEST = 8.0, 32.0  # the least and the most of a first step, in units of the compiler's time
CHANGED = "a file that it reads was changed: the next build compiles it"
NO_GAIN = 4.0  # after a step without a gain, the search so far counts as so many times as long


@dataclass(frozen=True)
class Improved:
    """The outcome of one step."""

    item: Remembered
    before: int  # loaded bytes of the object that was remembered
    after: int
    reason: str = ""  # why there was no search


@dataclass(order=True)
class _Turn:
    multiple: float  # search so far, in units of the compiler's time, and more where nothing was gained
    order: int
    item: Remembered = field(compare=False)
    rounds: int = field(default=1, compare=False)


def improve_all(
    items: Iterable[Remembered],
    memory: Path,
    seconds: float,
    jobs: int,
    nice: int,
    done: Callable[[Improved], None],
) -> None:
    """Search for so many seconds of wall time in several processes.

    Args:
        items: The compilations.
        memory: The file that they are from, and that keeps what is found.
        seconds: The time. A search that still runs then is stopped, and its result is lost.
        jobs: The number of processes.
        nice: By how much their priority is lower than this process's (nice(2)).
        done: Called after each step.
    """
    turns = [_Turn(item.multiple, number, item) for number, item in enumerate(items)]
    heapq.heapify(turns)
    total = sum(turn.item.compilation.compiler_seconds for turn in turns)
    first = min(LONGEST, max(FIRST, seconds * jobs / max(total, 1e-9)))
    end = time.monotonic() + seconds
    with _workers(min(jobs, len(turns)), memory, nice) as workers:
        idle, busy = list(workers), dict[Connection, _Turn]()
        while time.monotonic() < end and (turns or busy):
            while idle and turns:
                turn = heapq.heappop(turns)
                worker = idle.pop()
                budget = max(first, turn.multiple) * turn.item.compilation.compiler_seconds
                worker.send((turn.item, budget, turn.rounds))
                busy[worker] = turn
            ready = wait(list(busy), max(0.0, end - time.monotonic()))
            for worker in [worker for worker in busy if worker in ready]:
                turn = busy.pop(worker)
                try:
                    found: Improved = worker.recv()
                except EOFError:  # killed from outside, or out of memory
                    done(Improved(turn.item, 0, 0, "its process has ended"))
                    continue
                idle.append(worker)
                done(found)
                if found.reason:
                    continue
                multiple = turn.multiple + max(first, turn.multiple)
                if found.after >= found.before:
                    multiple *= NO_GAIN
                heapq.heappush(turns, _Turn(multiple, turn.order, turn.item, turn.rounds + 1))


@contextlib.contextmanager
def _workers(count: int, memory: Path, nice: int) -> Iterator[list[Connection]]:
    """Yield the connections to worker processes, which are killed at the end."""
    spawn = multiprocessing.get_context("spawn")
    pairs = [spawn.Pipe() for _ in range(count)]
    started = [spawn.Process(target=_work, args=(theirs, memory, nice)) for _, theirs in pairs]
    try:
        for process in started:
            process.start()
        for _, theirs in pairs:
            theirs.close()
        yield [ours for ours, _ in pairs]
    finally:
        for process in started:
            if process.pid:
                process.kill()
                process.join()


def _work(requests: Connection, memory: Path, nice: int) -> None:
    """Do steps until the connection is closed; the parent's end ends this process in the middle of a step."""
    os.nice(nice)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            item, seconds, seed = requests.recv()
        except EOFError:
            return
        requests.send(step(item, memory, seconds, seed))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def step(item: Remembered, memory: Path, seconds: float, seed: int) -> Improved:
    """Search once more for one compilation's object, and keep what is found.

    Args:
        item: The compilation.
        memory: The file that keeps the object.
        seconds: The budget, in processor time.
        seed: Of the search.
    """
    before = item.cost
    try:
        os.chdir(item.compilation.directory)
        if contents_of(item.files) != item.contents:
            return Improved(item, before, before, CHANGED)
        outcome = _searched(item, memory, seconds, seed)
    except (OSError, InputError, KeptReference) as error:
        return Improved(item, before, before, str(error))
    after = outcome.after.loaded_bytes if outcome.after else before
    return Improved(item, before, min(before, after))


def _searched(item: Remembered, memory: Path, seconds: float, seed: int) -> Outcome:
    made = item.compilation
    options, _ = parse(list(made.options))
    assert options
    key = Key(made.arguments, options, made.cxx)
    budget = FileBudget(seconds=seconds)
    chosen = replace(options, memory=memory, budget=budget, build_seconds=None, seed=options.seed + seed)
    job = ClangJob(made.command)
    plan = ClangJobs((job,), "", gnu=made.compiler if made.is_gnu else "")
    if chosen.stack_limit is None and plan.is_for_another_machine:
        chosen = replace(chosen, stack_limit=STACK_LIMIT)
    compiled = Compiled(made.compiler_seconds, PROCESSORS.now(), frozenset(), PROCESSORS)
    with tempfile.TemporaryDirectory(prefix="burnish-") as folder:
        reference = Path(folder, "reference.o")
        known = memory_in(memory).reference(item.key, item.contents)
        reference.write_bytes(known)
        build = Build(
            plan, compiled, chosen, default_optimizer, Path(folder), key, effort=item.effort + seconds
        )
        if not plan.is_cross:
            return improve(build, job, reference, Path(folder))
        from burnish.cc.cross import own_of  # most builds are for this machine

        own = own_of(job, Path(folder))
        if own.code != known:
            raise InputError(CHANGED)
        return improve_own(build, job, own, Path(folder))
