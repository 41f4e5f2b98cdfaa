"""Measurement of a program's runs, for any object that a compiler makes from the program."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from burnish.core.errors import Miscompiled, NotMeasurable
from burnish.core.program import Workload
from burnish.core.recent import Recent
from burnish.llvm.run.check import differences, limits_after, run_all
from burnish.llvm.run.executable import link
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.measurements import Known, MeasurementCache, key_of
from burnish.llvm.run.running import INSTRUCTIONS, PATIENT, Execution, RunLimits, execute

REPEATS = 3  # runs of each input; the least counts
KEPT = 4096  # measurements kept in memory

SECONDS = "seconds"


class Stopwatch:
    """A stopwatch for objects of one program; a machine measures one object at a time, each object once.

    The runs stop after the first round that differs from the unoptimized object. The time limit of a run
    depends on the unoptimized object's time. If the workload is `remembered`, measurements of earlier
    sessions on this machine count: see burnish.llvm.run.measurements.
    """

    def __init__(self, workload: Workload, unoptimized: Callable[[], bytes]) -> None:
        """Take the program's workload, and a function that makes its unoptimized object when needed."""
        self.workload = workload
        self.objects_run = 0
        self._unoptimized = unoptimized
        self._right: tuple[Execution, ...] | None = None
        self._known: Recent[tuple[bytes, str], Known] = Recent(KEPT)
        self._disk = MeasurementCache() if workload.remembered else None

    def measure(self, object_bytes: bytes, what: str = SECONDS) -> float:
        """Return the sum over the inputs of the least of REPEATS measurements.

        They are SECONDS of CPU time, in user code and in the kernel, or one of running.COUNTERS. An emulator
        counts INSTRUCTIONS, always the same number, so each input runs once.

        Raises:
            Miscompiled: the program's end or output differs from the unoptimized program's.
            MissingTool: the machine has no such counter.
            NotMeasurable: the program runs in an emulator, where time means nothing.
        """
        key = hashlib.blake2b(object_bytes, digest_size=16).digest(), what
        known = self._known.get(key)
        if known is None and self._disk:
            known = self._disk.find(self._disk_key(*key))
        if known is None:
            known = self._measure(object_bytes, *key)
        self._known.put(key, known)
        if isinstance(known, str):
            raise Miscompiled(known)
        return known

    @functools.cached_property
    def _reference(self) -> bytes:
        """The unoptimized object, whose behaviour defines the correct one."""
        return self._unoptimized()

    def _disk_key(self, digest: bytes, what: str) -> bytes:
        reference = hashlib.blake2b(self._reference, digest_size=16).digest()
        return key_of(what, digest, reference, self.workload.digest, str(REPEATS))

    def _measure(self, object_bytes: bytes, digest: bytes, what: str) -> Known:
        """Return the cost, or a description of the program's wrong behaviour."""
        emulated = bool(self.workload.emulator)
        if emulated and what != INSTRUCTIONS:
            raise NotMeasurable(
                "the program is for another machine, and runs in an emulator, where its time means nothing; "
                "choose the objective instructions, or one of size, such as loaded-bytes"
            )
        if self._right is None:
            with temporary_folder() as folder:
                executable = link(self._reference, self.workload, folder / "program")
                self._right = run_all(executable, self.workload, limits=PATIENT)
        limits = replace(limits_after(self._right), cpu=None if emulated else quiet_core())
        counters = () if what == SECONDS else (what,)
        alone = contextlib.nullcontext() if emulated else measurement_lock()
        with temporary_folder() as folder, alone:
            executable = link(object_bytes, self.workload, folder / "program")
            self.objects_run += 1
            rounds = []
            for _ in range(1 if emulated else REPEATS):
                rounds.append(self._round(executable, limits, counters))
                if problems := differences(self.workload, rounds[-1], self._right):
                    break
        found: Known = f"the program does something else: {problems[0]}" if problems else _total(rounds, what)
        late = any(run.killed for run in (*rounds[-1], *self._right))  # not kept: another run may be in time
        if self._disk and not late:
            self._disk.keep(self._disk_key(digest, what), found)
        return found

    def _round(self, executable: Path, limits: RunLimits, counters: Sequence[str]) -> tuple[Execution, ...]:
        return tuple(
            execute(
                executable,
                run,
                files=self.workload.files,
                limits=limits,
                counters=counters,
                emulator=self.workload.emulator,
            )
            for run in self.workload.runs
        )


def _total(rounds: Sequence[Sequence[Execution]], what: str) -> float:
    values = [[run.cpu_seconds if what == SECONDS else run.counters[what] for run in runs] for runs in rounds]
    total: float = sum(map(min, zip(*values, strict=True)))
    return total


@contextlib.contextmanager
def measurement_lock() -> Iterator[None]:
    """Hold the machine's measurement lock during a `with` block; wait until it is free.

    The lock is on the folder for temporary files, because every process has it and no lock file remains.
    """
    descriptor = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def quiet_core() -> int:
    """Return the core to measure on: the last allowed one, because the first ones handle interrupts."""
    return max(os.sched_getaffinity(0))
