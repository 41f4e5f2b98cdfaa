"""A command of a drop-in compiler after clang's part, and the outcomes of its compilations and its link."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from burnish.cc import shares, stack_usage
from burnish.cc.build_log import Action, Record
from burnish.cc.command_key import Key
from burnish.cc.file_budget import FileBudget
from burnish.cc.isolation import LEAST_STEP_SECONDS, LOAD, Guard
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.linked import Linked
from burnish.cc.refusals import refusal, too_small
from burnish.cc.requests import Compiled, DriverOptions, Optimizer, Request
from burnish.llvm.targets import REGISTERS, machine_of

USED_UP = "the build's budget is used up"


def level_of_passes(level: str) -> str:
    """Return the passes' level for a front end's level (clang/lib/Frontend/CompilerInvocation.cpp)."""
    return {"Og": "O1", "Ofast": "O3"}.get(level, level)


@dataclass(frozen=True)
class Sizes:
    """Bytes of a linked, stripped program, or of an object in one."""

    loaded_bytes: int  # code, constants, data, unwind tables and relocations
    text_bytes: int  # machine code
    constant_bytes: int  # machine code and read-only data without unwind tables, because caches hold these
    data_bytes: int  # initialised data that the program may change
    ram_bytes: int = 0  # all data that the program may change

    def bytes_of(self, objective: str | None) -> int:
        """Return the bytes that an objective counts."""
        return self.text_bytes if objective == "text-bytes" else self.loaded_bytes

    @classmethod
    def of_object(cls, path: Path, job: ClangJob) -> Sizes:
        """Return the sizes of an object of a job, as part of a linked program.

        Raises:
            ValueError: the file is not an object.
        """
        from burnish import _native

        sizes = _native.object_sizes(path.read_bytes(), job.position_independent)
        constant = sizes.text_bytes + sizes.read_only_bytes
        return cls(sizes.loaded_bytes, sizes.text_bytes, constant, sizes.data_bytes, sizes.ram_bytes)

    @classmethod
    def of_linked(cls, linked: Linked) -> Sizes:
        """Return the sizes of a program."""
        code = linked.of_kind("code")
        constant, data = code + linked.of_kind("read-only data"), linked.of_kind("data")
        return cls(linked.loaded_bytes, code, constant, data, data + linked.bss_bytes)


def sizes_of(path: Path, job: ClangJob) -> Sizes | None:
    """Return the sizes of an object or a program; None if they cannot be read."""
    try:
        return Sizes.of_object(path, job)
    except (OSError, ValueError, ImportError):
        return None


@dataclass(frozen=True)
class Outcome:
    """The outcome of one compilation, or of one link of a whole program."""

    source: str
    level: str
    command: tuple[str, ...]
    action: Action = "kept"
    reason: str = ""  # why clang's result stays, or why a search did not help
    before: Sizes | None = None  # of clang's object or program; None: not measured
    after: Sizes | None = None  # None: clang's result stays
    better: Path | None = None  # the object that is smaller than clang's
    trace: tuple[str, ...] = ()
    saved_in_groups: Mapping[str, int] = field(default_factory=dict)  # see burnish.cc.copies
    evaluations: int = 0
    crashes: int = 0  # of the compiler during the search
    seconds: float = 0.0
    recalled: bool = False  # an earlier build found it; see burnish.cc.kept

    @property
    def is_too_small(self) -> bool:
        """Return whether the object has too little code for a search."""
        return bool(self.before and too_small(self.before.text_bytes))

    def record(self, output: Path, compiler: str, options: DriverOptions) -> Record:
        """Return the outcome's line of the build log; `compiler` is the one that made the first object."""
        before, after = self.before, self.after or self.before
        return Record(
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            directory=str(Path.cwd()),
            source=self.source,
            output=str(output),
            level=self.level,
            action=self.action,
            reason=self.reason,
            loaded_bytes_before=before.loaded_bytes if before else None,
            loaded_bytes=after.loaded_bytes if after else None,
            text_bytes_before=before.text_bytes if before else None,
            text_bytes=after.text_bytes if after else None,
            seconds=round(self.seconds, 3),
            trace=self.trace,
            evaluations=self.evaluations,
            compiler=compiler,
            command=self.command,
            crashes=self.crashes,
            saved_in_groups=self.saved_in_groups,
            evict_policy=options.evict_policy,
            recalled=self.recalled,
            memory_error=options.memory_error,
        )

    def unused(self, why: str) -> Outcome:
        """Return the outcome for the case that the smaller result could not be used."""
        clangs = replace(self, action="kept", reason=why, after=None, better=None)
        return replace(clangs, trace=(), saved_in_groups={})


def kept(job: ClangJob, why: str = "", before: Sizes | None = None) -> Outcome:
    """Return the outcome of a compilation whose object stays clang's."""
    return Outcome(job.source, job.level, job.command, "kept", why, before)


def passed_through(job: ClangJob, why: str, reference: Path | None = None) -> Outcome:
    """Return the outcome of a compilation that burnish leaves to clang; `reference` is its object."""
    before = sizes_of(reference, job) if reference else None
    return Outcome(job.source, job.level, job.command, "passed through", why, before)


@dataclass(frozen=True)
class Build:
    """One command that clang has run, and the inputs of every later step."""

    plan: ClangJobs
    compiled: Compiled
    options: DriverOptions
    optimizer: Optimizer
    workspace: Path
    key: Key | None = None  # of the command; None: nothing is remembered by it
    effort: float | None = None  # seconds of all searches for an object that is searched once more

    @property
    def is_foreign(self) -> bool:
        """True if another compiler than burnish's clang made the objects, so no code of burnish is by it."""
        return bool(self.plan.gnu or self.options.clang)

    def describes_stack(self, job: ClangJob) -> bool:
        """Return whether burnish can write a job's file of -fstack-usage, for an object by its own back end.

        In C++, a GNU compiler's file has other names than the object.
        """
        if self.options.whole_program or machine_of(job.value("-triple") or "") not in REGISTERS:
            return False
        if self.plan.is_cross:
            return True
        is_c = job.language in ("c", "cpp-output")
        return self.is_foreign and is_c and self.plan.reader(job) is None

    @property
    def clang_seconds(self) -> float:
        """The processor time of clang for one file: the mean of the command's compilations."""
        return self.compiled.clang_seconds / max(1, len(self.plan.compilations))

    def refusal(self, job: ClangJob) -> str | None:
        """Return why burnish leaves the compilation to clang; None if it does not."""
        return refusal(
            stack_usage.without_option(job) if self.describes_stack(job) else job,
            every_level=self.options.objective is not None,
            profiles=not self.is_foreign,
            for_speed=not self.options.whole_program,
        )

    def guard(self, clang_seconds: float | None = None, workspace: Path | None = None) -> Guard:
        """Return a guard for a compilation that took clang so many seconds; the default is the command."""
        seconds = self.compiled.clang_seconds if clang_seconds is None else clang_seconds
        longest = self.options.build_seconds or self.options.budget.longest_seconds(seconds)
        step = max(LEAST_STEP_SECONDS, LOAD * seconds)
        return Guard(workspace or self.workspace, step, step + LOAD * longest)

    @contextlib.contextmanager
    def budget(self, clang_seconds: float) -> Iterator[FileBudget | None]:
        """Yield the budget of a search; None if the build's budget is used up."""
        if self.options.build_seconds is None:
            yield self.options.budget
            return
        with shares.share(self.options, clang_seconds, self.compiled.clock) as seconds:
            yield FileBudget(seconds=seconds) if seconds else None

    def request(
        self, name: str, level: str, clang_seconds: float, began: float, budget: FileBudget
    ) -> Request:
        """Return the request to the optimizer for a file or program, by clang's level and time for it.

        A budget that is a multiple of clang's time counts from `began`, the start of burnish's part.
        """
        return Request(
            name,
            level_of_passes(level),
            self.options,
            seconds=budget.seconds,
            until=budget.until(clang_seconds, began),
            spare_seconds=budget.spare_seconds(clang_seconds),
            evaluations=budget.evaluations,
            code_share=budget.code_share(clang_seconds) if self.options.searches_code else 0.0,
            short_code=budget.is_short(clang_seconds),
            clock=self.compiled.clock,
        )
