"""Many programs optimized, one after the other or several at a time, so that nothing is lost on the way."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from burnish.cli.jobs.interruption import Interruption
from burnish.cli.jobs.job import Job, SearchSettings, Watcher, search_job, write_output
from burnish.cli.jobs.kept import KeptResults
from burnish.core.errors import BurnishError, CompileError, InputError, MissingTool
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.search import Progress

POLL_SECONDS = 0.2  # how long Ctrl-C may wait for the main thread


@dataclass(frozen=True)
class Item:
    """A program to optimize; it is read and compiled when its turn comes."""

    name: str
    load: Callable[[], Job]


class Screen:
    """Who shows what happens; this one shows nothing."""

    def begin(self, item: Item, task: Task) -> Watcher:
        """Return who is told how one program's search goes on."""
        return Silent()

    def end(self, item: Item) -> None:
        """One more is done."""

    def say(self, text: str) -> None:
        """Print a line, for errors."""
        print(text, file=sys.stderr, flush=True)


class Silent:
    """Is told, and says nothing."""

    def reference(self, name: str, cost: float) -> None:
        """See Watcher."""

    def note(self, text: str) -> None:
        """See Watcher."""

    def __call__(self, progress: Progress) -> None:
        """See Watcher."""


@dataclass
class OptimizeRun:
    """Optimizes programs, writes each one's output and row when it is done, and notes what went wrong.

    A program that fails does not keep others from being done. The first Ctrl-C ends the searches that run:
    what they found so far is measured, written and told like any other result; what has not begun is left.
    """

    task: Task
    settings: SearchSettings
    items: Sequence[Item]
    kept: KeptResults | None = None
    screen: Screen = field(default_factory=Screen)
    tell: Callable[[Result], None] = lambda _: None  # of each result, as it comes

    results: dict[int, Result] = field(default_factory=dict)  # by the item's number
    outputs: list[str] = field(default_factory=list)  # that were written
    described: list[str] = field(default_factory=list)  # what the task says of their states
    errors: dict[int, BurnishError] = field(default_factory=dict)
    lost: list[Result] = field(default_factory=list)  # that could not be written somewhere
    again: set[int] = field(default_factory=set)  # done by an earlier run
    interrupted: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _defect: BaseException | None = None

    def __call__(self, jobs: int = 1) -> None:
        """Do all, so many at a time.

        Raises:
            MissingTool: without it none can be done.
        """
        waiting = deque(range(len(self.items)))
        with Interruption() as stop:
            try:
                if jobs == 1:
                    self._work(waiting, stop, main=True)
                else:
                    self._together(waiting, stop, min(jobs, len(self.items)))
            except KeyboardInterrupt:
                stop.asked = True
            self.interrupted = stop.asked
        if self._defect:
            raise self._defect

    def _together(self, waiting: deque[int], stop: Interruption, jobs: int) -> None:
        """Work in threads, which wait for the compilers' processes; daemons, for the second Ctrl-C."""
        work = partial(self._work, waiting, stop, main=False)
        threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(POLL_SECONDS)

    def _work(self, waiting: deque[int], stop: Interruption, *, main: bool) -> None:
        with suppress(IndexError):
            while not stop.asked and not self._defect:
                number = waiting.popleft()
                try:
                    self._one(number, stop, main=main)
                except KeyboardInterrupt:  # before it had found anything
                    return
                except MissingTool as error:
                    self._defect = error
                except BurnishError as error:
                    if stop.asked and isinstance(error, CompileError):
                        return  # clang died of the same Ctrl-C
                    self._fail(number, error)
                except Exception as error:  # a defect of ours, told by the main thread
                    if main:
                        raise
                    self._defect = error
                finally:
                    stop.at_once = False
                    self.screen.end(self.items[number])

    def _one(self, number: int, stop: Interruption, *, main: bool) -> None:
        item = self.items[number]
        stop.at_once = main
        watcher = self.screen.begin(item, self.task)
        watcher.note("compiling")
        job = item.load()
        result = self._found_before(number, job)
        if result is None:
            phase = _Phase(watcher, stop, main)
            result = search_job(self.task, job, self.settings, phase)
            if phase.cut:
                result = replace(result, budget="")  # it is not what the whole budget gives
            self._keep(number, job, result, stop, new=True)
        elif not job.output.exists():
            stop.at_once = False
            self._keep(number, job, result, stop, new=False)

    def _found_before(self, number: int, job: Job) -> Result | None:
        with self._lock:
            result = self.kept.find(job) if self.kept else None
            if result:
                self.results[number] = result
                self.again.add(number)
            return result

    def _keep(self, number: int, job: Job, result: Result, stop: Interruption, *, new: bool) -> None:
        """Write the output and the row; whatever fails, the result is told."""
        lost, described = None, ""
        try:
            try:
                described = write_output(self.task, job, result, self.settings.limits)
            except CompileError:
                if not stop.asked:
                    raise
                described = write_output(self.task, job, result, self.settings.limits)  # it died of that
        except BurnishError as error:
            lost = error
        with self._lock:
            self.results[number] = result
            if lost is None:
                self.outputs.append(str(job.output))
                self.described += [described] if described else []
            if new:
                self.tell(result)
                try:
                    if self.kept:
                        self.kept.add(result)
                except InputError as error:
                    lost = lost or error
            if lost:
                self.lost.append(result)
        if lost:
            self._fail(number, lost)

    def _fail(self, number: int, error: BurnishError) -> None:
        with self._lock:
            self.errors[number] = error
            if isinstance(error, InputError):
                self.screen.say(f"burnish: error: {error}")
            else:
                name = self.items[number].name
                self.screen.say(f"burnish: error: {name}: {type(error).__name__}: {error}")


class _Phase:
    """Passes on how a search goes on, and ends it where Ctrl-C asks for that."""

    def __init__(self, watcher: Watcher, stop: Interruption, main: bool) -> None:
        self._watcher, self._stop, self._main = watcher, stop, main
        self._searching = False
        self.cut = False

    def reference(self, name: str, cost: float) -> None:
        self._searching = True
        self._watcher.reference(name, cost)

    def note(self, text: str) -> None:
        if self._searching:  # it is over: what comes takes its time, and must not be lost
            self._stop.at_once, self._searching = False, False
            self.cut = self._stop.asked
        elif self._stop.asked and not self.cut and not self._main:
            raise KeyboardInterrupt  # nothing was searched yet
        self._watcher.note(text)

    def __call__(self, progress: Progress) -> None:
        if self._stop.asked:
            raise KeyboardInterrupt  # which ends a search, and the stages behind it; see burnish.search.run
        self._watcher(progress)


def workers_each(jobs: int) -> int:
    """Return how many processes each of several searches gets at a time."""
    return max(1, (os.cpu_count() or 1) // jobs)
