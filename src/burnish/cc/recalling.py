"""Objects and programs that a build takes from the memory, and those that it keeps there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from burnish.cc.command_key import Key
from burnish.cc.file_budget import DEFAULT
from burnish.cc.jobs import ClangJob
from burnish.cc.kept import Compilation, Kept, ObjectMemory, memory_in, parse_dependencies
from burnish.cc.outcomes import Build, Outcome
from burnish.cc.requests import DriverOptions, default_memory
from burnish.core.errors import InputError
from burnish.core.trace import Trace
from burnish.files import write_atomically

UNKNOWN = 1 << 62  # bytes of an object that cannot be read: any other is smaller
ENOUGH = 0.5  # of the effort that is asked for: clang's time, its unit, differs from run to run


@dataclass(frozen=True)
class Recollection:
    """One compilation, and the memory of its build.

    Attributes:
        memory: The objects of all builds.
        key: Of the compilation.
        build: Its build.
        job: Its job.
        dependencies: The rule for make with all files that the front end read; it may be missing.
    """

    memory: ObjectMemory
    key: Key
    build: Build
    job: ClangJob
    dependencies: Path

    @classmethod
    def of(cls, build: Build, job: ClangJob, dependencies: Path) -> Recollection | None:
        """Return a compilation's; None if its build remembers no objects.

        Args:
            build: The build.
            job: The compilation.
            dependencies: The rule for make that the front end will have written.
        """
        options = build.options
        if not remembers(options):
            return None
        assert options.memory
        key = build.key or Key(job.command, options)
        key = replace(key, arguments=(*key.arguments, job.source))
        return cls(memory_in(options.memory), key, build, job, dependencies)

    def same_module(self, bitcode: bytes, unsearched: Outcome) -> Outcome | None:
        """Return the outcome of an earlier build for the front end's module; None if it is unknown."""
        kept = self.memory.same_module(self.key.of_module(bitcode))
        if not kept or kept.effort < ENOUGH * needed(self.build.options, self.build.clang_seconds):
            return None
        return self._written(kept, unsearched)

    def _written(self, kept: Kept, unsearched: Outcome) -> Outcome:
        outcome = kept.outcome(unsearched)
        if kept.content is None:
            return outcome
        better = self.dependencies.with_name("kept.o")
        better.write_bytes(kept.content)
        return replace(outcome, better=better)

    def previous(self) -> Trace:
        """Return the trace of the object that the command's files had before they were changed.

        With a budget that the user chose, it is () because that budget is for a search.
        """
        options = self.build.options
        if options.build_seconds is not None or not (options.budget.remembered or options.budget == DEFAULT):
            return ()
        return self.memory.previous(self.key.name)

    def keep(self, outcome: Outcome, bitcode: bytes, reference: bytes) -> Outcome:
        """Store an outcome; return the better one of it and the one that is stored already.

        A search that failed before its first evaluation is not stored: the next build tries again.

        Raises:
            InputError: the memory cannot be written.
        """
        if not (outcome.better or outcome.evaluations or outcome.recalled):
            return outcome
        content = outcome.better.read_bytes() if outcome.better else None
        effort = self.build.effort
        if effort is None:
            effort = needed(self.build.options, self.build.clang_seconds)
        module = self.key.of_module(bitcode)
        better = self.memory.keep(
            Kept(module, effort, _found(outcome), content), _cost(outcome, self.build.options.objective)
        )
        if self.dependencies.is_file():
            files = parse_dependencies(self.dependencies.read_text(errors="surrogateescape"))
            compilation = Compilation(
                outcome.source,
                outcome.level,
                outcome.command,
                outcome.before,
                self.build.plan.compiler,
                bool(self.build.plan.gnu),
                self.build.clang_seconds,
                str(Path.cwd()),
                (self.build.key or self.key).arguments,
                self.key.options.words,
                self.key.cxx,
            )
            sole = self.build.key if len(self.build.plan.compilations) == 1 else None
            key = sole or self.key
            self.memory.keep_source(
                key.of_object(reference), self.key.name, module, files, compilation, reference
            )
        if better.content == content:
            return outcome
        return self._written(better, outcome)


@dataclass(frozen=True)
class LinkRecollection:
    """One link of a whole program, and the memory of its build.

    Attributes:
        memory: The programs of all builds.
        key: Of the command, the linker's own program and the module of its units.
        effort: The seconds of search that the budget asks for at most.
        objective: The objective of the build.
    """

    memory: ObjectMemory
    key: str
    effort: float
    objective: str | None

    @classmethod
    def of(cls, build: Build, linked: bytes, bitcode: bytes, clang_seconds: float) -> LinkRecollection | None:
        """Return a link's; None if its build remembers no programs.

        Args:
            build: The build.
            linked: The linker's own program.
            bitcode: The module of its units, before any pass.
            clang_seconds: The processor time of clang for the units.
        """
        options = build.options
        if not (build.key and options.memory and remembers(options)):
            return None
        key = build.key.of_module(linked + bitcode)
        effort = needed(options, clang_seconds)
        return cls(memory_in(options.memory), key, effort, options.objective)

    def recall(self, unsearched: Outcome, program: Path) -> Outcome | None:
        """Replace a program by an earlier build's; return the outcome, or None if it is unknown."""
        with tolerant(self.memory):
            kept = self.memory.same_module(self.key)
            if kept and kept.effort >= ENOUGH * self.effort:
                if kept.content is not None:
                    write_atomically(program, kept.content)
                return kept.outcome(unsearched)
        return None

    def keep(self, outcome: Outcome, program: Path) -> None:
        """Store an outcome and its program, unless nothing was tried."""
        if not (outcome.after or outcome.evaluations):
            return
        content = program.read_bytes() if outcome.after else None
        kept = Kept(self.key, self.effort, _found(outcome), content)
        with tolerant(self.memory):
            self.memory.keep(kept, _cost(outcome, self.objective))


def remembers(options: DriverOptions) -> bool:
    """Return whether a build remembers objects: with budgets in time, for objectives in bytes."""
    return bool(
        options.memory and options.budget.evaluations is None and options.objective != "ir-instructions"
    )


def needed(options: DriverOptions, clang_seconds: float) -> float:
    """Return the seconds of search that a budget asks for at most; 0 if any earlier search is enough."""
    if options.budget.remembered or options.build_seconds is not None:
        return 0.0
    return options.budget.longest_seconds(clang_seconds)


def unchanged(key: Key) -> tuple[Outcome, Path, str] | None:
    """Replace the object that clang wrote by an earlier build's, if no file has changed since.

    Returns:
        The outcome, the object and the compiler; None if the memory lacks it, or if there are several.

    Raises:
        InputError: the memory cannot be read, or the object cannot be replaced.
    """
    options, compiled = key.options, key.options.compiled
    if not compiled or len(compiled.written) != 1 or not remembers(options):
        return None
    assert options.memory
    start = compiled.clock.now()
    (output,) = compiled.written
    known = memory_in(options.memory).unchanged(key.of_object(output.read_bytes()))
    if not known:
        return None
    kept, found = known
    if kept.effort < ENOUGH * needed(options, compiled.clang_seconds):
        return None
    outcome = Outcome(found.source, found.level, found.command, before=found.before)
    if kept.content is not None:
        write_atomically(output, kept.content)
    outcome = kept.outcome(outcome)
    return replace(outcome, seconds=compiled.clock.now() - start), output, found.compiler


@contextlib.contextmanager
def tolerant(memory: ObjectMemory) -> Iterator[None]:
    """Ignore errors of the memory of all builds, which the user did not ask for by name."""
    try:
        yield
    except (InputError, OSError):
        if memory.path != default_memory():
            raise


def _found(outcome: Outcome) -> dict[str, Any]:
    return {
        "reason": outcome.reason,
        "trace": outcome.trace,
        "saved_in_groups": dict(outcome.saved_in_groups),
        "after": asdict(outcome.after) if outcome.after else None,
    }


def _cost(outcome: Outcome, objective: str | None) -> int:
    sizes = outcome.after or outcome.before
    return sizes.bytes_of(objective) if sizes else UNKNOWN
