"""Runs over many programs, one after the other or several at a time, that lose no result."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from burnish.cli.jobs.job import Job, SearchSettings, search_job, write_output
from burnish.cli.jobs.results import read_results
from burnish.core.errors import BurnishError, CompileError, InputError, MissingTool
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation import Callbacks
from burnish.evaluation.confirm import toolchain
from burnish.files import LineFile
from burnish.policies import find as policies
from burnish.search import Progress

if TYPE_CHECKING:
    from burnish.cluster.engine import Engine
    from burnish.cluster.run import ShardProgress
    from burnish.workers.executor import Shard

POLL_SECONDS = 0.2  # longest delay before the main thread handles Ctrl-C


@dataclass(frozen=True)
class Item:
    """A program to optimize; `load` reads and compiles it, when its turn comes."""

    name: str
    load: Callable[[], Job]


class Screen:
    """Progress display; this base class shows only errors."""

    def begin(self, item: Item, task: Task) -> Callbacks:
        """Return the callbacks of one program's search."""
        return Callbacks()

    def end(self, item: Item) -> None:
        """Show that one more program is done."""

    def say(self, text: str) -> None:
        """Print a line, for errors."""
        print(text, file=sys.stderr, flush=True)


class KeptResults:
    """The file of --result, which gets rows as they come; an earlier run's rows are not computed again."""

    def __init__(self, path: Path, task: Task, settings: SearchSettings, *, resume: bool) -> None:
        """Open the file; without `resume`, the first new row replaces all old ones.

        Raises:
            InputError: the file cannot be written, or has something other than results.
        """
        self._task, self._settings, self._method = task, settings, method_of(task, settings)
        self._file = LineFile(path, keep=resume)  # cuts off an incomplete last line
        rows = read_results(path) if resume and path.stat().st_size else []
        self._rows = {_key_of(row): row for row in rows}

    def find(self, job: Job) -> Result | None:
        """Return an earlier run's result for the same program, settings, budget and toolchain, or None."""
        task, settings, seed = self._task, job.settings(self._settings), self._settings.strategy.seed
        search = (settings.objective, self._method, seed, settings.budget.text)
        row = self._rows.get(_key(job.program.digest, task.id, task.options, *search, toolchain(task)))
        if row and (row.program, row.source) != (job.program.name, job.source):  # a copy of the program
            row = replace(row, program=job.program.name, source=job.source)
            self.add(row)
        return row

    def add(self, row: Result) -> None:
        """Append a result, which is a line of the file afterwards.

        Raises:
            InputError: the file cannot be written.
        """
        self._file.append(row.to_json())
        self._rows[_key_of(row)] = row

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def method_of(task: Task, settings: SearchSettings) -> str:
    """Return the search's name in results, with the digest of its policy if one guides it."""
    guide = policies.find_guide(settings.strategy.policy, task, settings.objective)
    return policies.named(settings.strategy.method, guide[1] if guide else "")


def _key_of(row: Result) -> str:
    search = (row.objective, row.method, row.seed, row.budget)
    return _key(row.digest, row.task, row.options, *search, row.toolchain)


def _key(*parts: object) -> str:
    return json.dumps(parts, sort_keys=True)


@dataclass
class OptimizeRun:
    """Optimizes programs, writes each program's output and row as soon as it is done, and notes errors.

    After a failure the other programs are still optimized. The first Ctrl-C ends the running searches. Their
    best results so far are measured, written and reported as usual; no further program is begun.
    """

    task: Task
    settings: SearchSettings
    items: Sequence[Item]
    kept: KeptResults | None = None
    screen: Screen = field(default_factory=Screen)
    tell: Callable[[Result], None] = lambda _: None  # called with each new result

    results: dict[int, Result] = field(default_factory=dict)  # by the item's number
    outputs: list[str] = field(default_factory=list)  # paths of written files
    described: list[str] = field(default_factory=list)  # the task's descriptions of final states
    errors: dict[int, BurnishError] = field(default_factory=dict)  # by the item's number
    lost: list[Result] = field(default_factory=list)  # results whose output or row could not be written
    again: set[int] = field(default_factory=set)  # numbers of items that an earlier run has done
    interrupted: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _defect: BaseException | None = None

    def __call__(self, jobs: int = 1) -> None:
        """Optimize all programs, `jobs` at a time.

        Raises:
            MissingTool: a tool is missing that every program needs.
        """
        waiting = deque(range(len(self.items)))
        with Interruption() as stop:
            try:
                if jobs == 1:
                    self._work(waiting, stop, main=True)
                else:  # threads wait for worker processes; as daemons they do not delay a second Ctrl-C
                    work = partial(self._work, waiting, stop, main=False)
                    count = min(jobs, len(self.items))
                    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        while thread.is_alive():
                            thread.join(POLL_SECONDS)
            except KeyboardInterrupt:
                stop.asked = True
            self.interrupted = stop.asked
        if self._defect:
            raise self._defect

    def on(self, engine: Engine, folder: Path, progress: Callable[[ShardProgress], None]) -> None:
        """Optimize all programs on an engine, each as a shard; Ctrl-C ends the running shards.

        A shard's result stays in `folder` until its output and its row are written; without a file of rows,
        until the run has ended. So the same command continues after Ctrl-C and after a killed driver.

        Args:
            engine: The engine, which is closed at the end.
            folder: The folder of the shards.
            progress: Called with the numbers of programs, those of earlier runs and errors included.

        Raises:
            MissingTool: a tool is missing that every program needs.
        """
        from burnish.cli.jobs.search_shards import outcome_of
        from burnish.cluster.run import run_shards
        from burnish.cluster.shards import result_file

        jobs: dict[str, tuple[int, Job]] = {}
        written: list[Path] = []  # results whose outputs are written

        def count(now: ShardProgress) -> None:
            failed, resumed = len(self.errors.keys() - self.results), now.resumed + len(self.again)
            progress(replace(now, done=len(self.results), failed=failed, resumed=resumed))

        with Interruption() as stop:
            going = run_shards(engine, folder, self._shards(jobs, stop), progress=count)
            try:
                stop.at_once = True
                for name, failure in going:
                    stop.at_once = False
                    (number, job), found = jobs[name], outcome_of(folder, name, failure)
                    if isinstance(found, Result):
                        self._keep(number, job, found, stop, new=True)
                        written += [] if number in self.errors else [result_file(folder, name)]
                    else:
                        result_file(folder, name).unlink(missing_ok=True)  # it is tried again by the next run
                        if isinstance(found, MissingTool):
                            raise found
                        self._fail(number, found)
                    while self.kept and written:
                        written.pop().unlink()
                    if stop.asked:
                        break
                    stop.at_once = True
            except KeyboardInterrupt:
                stop.asked = True
            finally:
                stop.at_once = False
                going.close()
            self.interrupted = stop.asked
        for path in [] if self.interrupted else written:
            path.unlink()

    def _shards(self, jobs: dict[str, tuple[int, Job]], stop: Interruption) -> Iterator[Shard]:
        """Yield the shards of all programs that no earlier run has done; `jobs` gets them by name."""
        from burnish.cli.jobs.search_shards import shard_of

        method = method_of(self.task, self.settings)
        for number in range(len(self.items)):
            try:
                job = self._load(number, stop)
            except MissingTool:
                raise
            except BurnishError as error:
                self._fail(number, error)
                continue
            finally:
                stop.at_once = True
            if stop.asked:
                raise KeyboardInterrupt  # Ctrl-C came while an output was written
            if job:
                shard = shard_of(self.task, job, self.settings, method)
                jobs[shard.name] = number, job
                yield shard

    def _work(self, waiting: deque[int], stop: Interruption, *, main: bool) -> None:
        with suppress(IndexError):
            while not stop.asked and not self._defect:
                number = waiting.popleft()
                try:
                    self._one(number, stop, main=main)
                except KeyboardInterrupt:  # raised before anything was found
                    return
                except MissingTool as error:
                    self._defect = error
                except BurnishError as error:
                    if stop.asked and isinstance(error, CompileError):
                        return  # clang died of the same Ctrl-C
                    self._fail(number, error)
                except Exception as error:  # a defect of burnish, raised in the main thread
                    if main:
                        raise
                    self._defect = error
                finally:
                    stop.at_once = False
                    self.screen.end(self.items[number])

    def _one(self, number: int, stop: Interruption, *, main: bool) -> None:
        stop.at_once = main
        callbacks = self.screen.begin(self.items[number], self.task)
        callbacks.note("compiling")
        if job := self._load(number, stop):
            phase = _Phase(callbacks, stop, main)
            told = Callbacks(phase.reference, phase, phase.note)
            result = search_job(self.task, job, self.settings, told)
            if phase.cut:
                result = replace(result, budget="")  # not a result of the whole budget
            self._keep(number, job, result, stop, new=True)

    def _load(self, number: int, stop: Interruption) -> Job | None:
        """Load a program; if an earlier run has its result, write a missing output, and return None."""
        job = self.items[number].load()
        with self._lock:
            result = self.kept.find(job) if self.kept else None
            if result is None:
                return job
            self.results[number] = result
            self.again.add(number)
        if not job.output.exists():
            stop.at_once = False
            self._keep(number, job, result, stop, new=False)
        return None

    def _keep(self, number: int, job: Job, result: Result, stop: Interruption, *, new: bool) -> None:
        """Write the output and the row, and report a new result even if writing fails."""
        lost, described = None, ""
        try:
            try:
                described = write_output(self.task, job, result, self.settings.limits)
            except CompileError:
                if not stop.asked:
                    raise
                described = write_output(self.task, job, result, self.settings.limits)  # Ctrl-C hit clang
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
            name = self.items[number].name
            kind = "" if type(error) is BurnishError else f"{type(error).__name__}: "
            before = "" if isinstance(error, InputError) else f"{name}: {kind}"
            self.screen.say(f"burnish: error: {before}{error}")


class _Phase:
    """Passes a search's progress on, and ends the search after Ctrl-C."""

    def __init__(self, callbacks: Callbacks, stop: Interruption, main: bool) -> None:
        self._callbacks, self._stop, self._main = callbacks, stop, main
        self._searching = False
        self.cut = False

    def reference(self, name: str, cost: float) -> None:
        self._searching = True
        self._callbacks.reference(name, cost)

    def note(self, text: str) -> None:
        if self._searching:  # the search is over; Ctrl-C must not interrupt measuring and writing
            self._stop.at_once, self._searching = False, False
            self.cut = self._stop.asked
        elif self._stop.asked and not self.cut and not self._main:
            raise KeyboardInterrupt  # no search has begun yet
        self._callbacks.note(text)

    def __call__(self, progress: Progress) -> None:
        if self._stop.asked:
            raise KeyboardInterrupt  # ends the search and its later stages; see burnish.search.run
        if self._callbacks.progress:
            self._callbacks.progress(progress)


class Interruption:
    """A handler that notes the first Ctrl-C, and raises KeyboardInterrupt at once only if nothing is lost."""

    def __init__(self) -> None:
        self.asked = False
        self.at_once = False  # True: the first Ctrl-C also raises KeyboardInterrupt in the main thread
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: object) -> None:
        again, self.asked = self.asked, True
        if again or self.at_once:
            raise KeyboardInterrupt
