"""More search for what builds remember, in the background; the next build takes what it finds.

The compilation or link with the least search so far, in units of the compiler's own time for it, is next. A
step searches as long as all steps before it, and at least FIRST times as long as the compiler takes. It
begins with the best trace so far, by another seed. A file that was changed since is left to the next build.
"""

from __future__ import annotations

import contextlib
import heapq
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from burnish.cc.improving_step import Improved, step
from burnish.cc.kept import Remembered
from burnish.core.errors import CompilerKilled

FIRST, LONGEST = 8.0, 32.0  # the least and the most of a first step, in units of the compiler's time
NO_GAIN = 4.0  # after a step without a gain, the search so far counts as so many times as long
MOST_ENDED = 2  # processes that may end at one file; then it is left out
REPLACED = 8  # processes that may end, in all, and are replaced


@dataclass(order=True)
class _Turn:
    multiple: float  # search so far, in units of the compiler's time, and more where nothing was gained
    order: int
    item: Remembered = field(compare=False)
    rounds: int = field(default=1, compare=False)
    ended: int = field(default=0, compare=False)  # processes that have ended in a step for the item

    def after(self, step: Improved) -> _Turn:
        """Return the next turn of the item after a step."""
        multiple = step.after.multiple * (1.0 if step.saved_bytes > 0 else NO_GAIN)
        return _Turn(multiple, self.order, step.after, self.rounds + 1, self.ended)


@dataclass
class _Worker:
    """A process for steps, and its current turn."""

    process: SpawnProcess
    connection: Connection
    turn: _Turn | None = None

    @classmethod
    def started(cls, memory: Path, nice: int) -> _Worker:
        """Start a process."""
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=_work, args=(theirs, memory, nice))
        process.start()
        theirs.close()
        return cls(process, ours)

    def begin(self, turn: _Turn, seconds: float) -> None:
        """Begin a step; if the process has ended, `finish` finds that."""
        self.turn = turn
        with contextlib.suppress(OSError):
            self.connection.send((turn.item, seconds, turn.rounds))

    def finish(self) -> tuple[_Turn, Improved | None]:
        """Return the turn and its step, which has ended; None in place of the step if the process ended."""
        turn, self.turn = self.turn, None
        assert turn
        try:
            return turn, self.connection.recv()
        except (EOFError, OSError):
            return turn, None

    def stop(self) -> None:
        """End the process in the middle of a step."""
        self.process.kill()
        self.process.join()


@dataclass
class _Workers:
    """The processes for steps, of which some may end: killed from outside, or out of memory."""

    memory: Path
    nice: int
    say: Callable[[str], None]
    spare: int  # processes that may still take the place of others
    running: list[_Worker] = field(default_factory=list)

    def start(self, count: int) -> None:
        """Start processes."""
        self.running += [_Worker.started(self.memory, self.nice) for _ in range(count)]

    def replace(self, worker: _Worker, source: str) -> None:
        """Replace a process that has ended in a step for a source by a new one, and say so."""
        self.running.remove(worker)
        worker.process.join()
        code = worker.process.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        instead = min(1, self.spare)
        self.spare -= instead
        self.start(instead)
        goes_on = "another one takes its place" if instead else f"{len(self.running)} go on"
        self.say(f"burnish improve: a process has ended ({how}) at {source}; {goes_on}")

    def stop(self) -> None:
        """End all processes."""
        for worker in self.running:
            worker.stop()


def improve_all(
    items: Iterable[Remembered],
    memory: Path,
    seconds: float,
    jobs: int,
    nice: int,
    done: Callable[[Improved], None],
    say: Callable[[str], None],
) -> None:
    """Search for so many seconds of wall time in several processes.

    Args:
        items: The compilations and links.
        memory: The file that they are from, and that keeps what is found.
        seconds: The time. A search that still runs then is stopped, and its result is lost.
        jobs: The number of processes.
        nice: By how much their priority is lower than this process's (nice(2)).
        done: Called after each step.
        say: Called with a line about a process that has ended.

    Raises:
        CompilerKilled: all processes have ended, and REPLACED others in their place, too.
    """
    turns = [_Turn(item.multiple, number, item) for number, item in enumerate(items)]
    heapq.heapify(turns)
    total = sum(turn.item.compilation.compiler_seconds for turn in turns)
    first = min(LONGEST, max(FIRST, seconds * jobs / max(total, 1e-9)))
    end = time.monotonic() + seconds
    workers = _Workers(memory, nice, say, REPLACED)
    try:
        workers.start(min(jobs, len(turns)))
        while (left := end - time.monotonic()) > 0:
            for worker in workers.running:
                if turns and not worker.turn:
                    turn = heapq.heappop(turns)
                    least = first * turn.item.compilation.compiler_seconds
                    worker.begin(turn, min(left, max(least, turn.item.effort)))
            busy = {worker.connection: worker for worker in workers.running if worker.turn}
            if not busy:
                break
            for connection in wait(list(busy), left):
                worker = busy[connection]  # type: ignore[index]
                turn, found = worker.finish()
                if found:
                    done(found)
                    if not found.reason:
                        heapq.heappush(turns, turn.after(found))
                    continue
                workers.replace(worker, turn.item.compilation.source)
                turn = replace(turn, ended=turn.ended + 1)
                if turn.ended < MOST_ENDED:
                    heapq.heappush(turns, turn)
                else:
                    done(Improved(turn.item, turn.item, f"{MOST_ENDED} processes have ended at it"))
        if turns and not workers.running:
            raise CompilerKilled(
                f"all processes have ended, and {REPLACED} others in their place: something kills them, or"
                " memory is short. What was found is kept. Try fewer at once: burnish improve --jobs 1"
            )
    finally:
        workers.stop()


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
