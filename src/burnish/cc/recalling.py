"""Objects and programs that a build takes from the memory, and those that it keeps there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from burnish.cc import stack_usage
from burnish.cc.command_key import Key, digest
from burnish.cc.file_budget import DEFAULT
from burnish.cc.jobs import ClangJob
from burnish.cc.kept import Compilation, Kept, ObjectMemory, memory_in, parse_dependencies
from burnish.cc.known_plans import surroundings_of
from burnish.cc.outcomes import Build, Outcome
from burnish.cc.requests import DriverOptions, KeptReference, default_memory
from burnish.core.errors import InputError
from burnish.core.trace import Trace
from burnish.files import write_atomically

UNKNOWN = 1 << 62  # bytes of an object that cannot be read: any other is smaller
DEPENDENCIES = "front.d"  # a rule for make with the files that the front end read
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
        key = (build.key or Key(job.command, options)).for_source(job.source)
        return cls(memory_in(options.memory), key, build, job, dependencies)

    def same_module(self, bitcode: bytes, unsearched: Outcome) -> Outcome | None:
        """Return the outcome of an earlier build for the front end's module; None if it is unknown."""
        return self._known(self.memory.same_module(self.key.of_module(bitcode)), unsearched)

    def recall(self, bitcode: bytes) -> tuple[Outcome, bytes] | None:
        """Return the outcome and the object of an earlier build for the front end's module; None if unknown.

        Without a smaller object, the object is the compiler's.
        """
        known = self.memory.same_object(self.key.of_module(bitcode))
        if not known:
            return None
        kept, made, reference = known
        if not _had_enough(kept, self.build.options, made.compiler_seconds):
            return None
        unsearched = Outcome(self.job.source, self.job.level, self.job.command, before=made.before)
        compiled = replace(self.build.compiled, clang_seconds=made.compiler_seconds)
        again = replace(self, build=replace(self.build, compiled=compiled))
        outcome = again.keep(self._written(kept, unsearched), bitcode, reference)
        return outcome, outcome.better.read_bytes() if outcome.better else reference

    def _written(self, kept: Kept, unsearched: Outcome) -> Outcome:
        outcome = kept.outcome(unsearched)
        if kept.content is None:
            return outcome
        better = self.dependencies.with_name("kept.o")
        better.write_bytes(kept.content)
        return replace(outcome, better=better)

    def same_files(self, reference: bytes, unsearched: Outcome) -> Outcome | None:
        """Return the outcome of an earlier build for the compiler's object, if no file has changed since."""
        found = self.memory.unchanged(self._of_object(reference))
        return self._known(found and found[0], unsearched)

    def same_front(self, front: bytes, reference: bytes, unsearched: Outcome) -> Outcome | None:
        """Return the outcome of an earlier build for the compiler's object and its module; see keep_front."""
        kept = self.memory.same_front(self._of_front(front, reference))
        known = self._known(kept, unsearched)
        if kept and known:  # of other files, perhaps: a comment is new
            self._keep_source(known, kept.key, reference)
        return known

    def keep_front(self, front: bytes, reference: bytes, bitcode: bytes) -> None:
        """Store the module of an object, because no command makes it again, if the object is kept.

        Args:
            front: The module, with all that a search needs.
            reference: The compiler's object.
            bitcode: The module that was searched.
        """
        self.memory.keep_front(self._of_front(front, reference), self.key.of_module(bitcode), front)

    def _of_front(self, front: bytes, reference: bytes) -> str:
        return digest(self._of_object(reference).encode(), front)

    def _of_object(self, reference: bytes) -> str:
        """Return the key of the command with the compiler's object: `unchanged` has it for a sole object."""
        sole = self.build.key if len(self.build.plan.compilations) == 1 else None
        return (sole or self.key).of_object(reference)

    def _known(self, kept: Kept | None, unsearched: Outcome) -> Outcome | None:
        """Return the outcome of what is kept; None if the budget asks for more search than it had."""
        if not kept or not _had_enough(kept, self.build.options, self.build.clang_seconds):
            return None
        return self._written(kept, unsearched)

    def unit(self, bitcode: bytes) -> tuple[bytes, float] | None:
        """Return the compiler's object of the front end's module, and its processor time; None if unknown."""
        return self.memory.unit(self.key.of_unit(bitcode))

    def keep_unit(self, bitcode: bytes, content: bytes, seconds: float) -> None:
        """Store that object: a program's link searches, its units do not."""
        self.memory.keep_unit(self.key.of_unit(bitcode), content, seconds)

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

        A search that failed before its first evaluation is not stored: the next build tries again. An object
        that is too small for a search is stored, as the compiler's.

        Raises:
            InputError: the memory cannot be written.
        """
        if not (outcome.better or outcome.evaluations or outcome.recalled or outcome.is_too_small):
            return outcome
        content = outcome.better.read_bytes() if outcome.better else None
        effort = self.build.effort
        if effort is None:
            effort = needed(self.build.options, self.build.clang_seconds)
        kept = Kept(self.key.of_module(bitcode), effort, _found(outcome), content)
        with self.memory.together():
            better = self.memory.keep(kept, _cost(outcome, self.build.options.objective))
            if self.build.effort is None:  # a step of burnish improve has its compilation from the memory
                self._keep_source(outcome, kept.key, reference)
        if better.content == content:
            return outcome
        return self._written(better, outcome)

    def _keep_source(self, outcome: Outcome, module: str, reference: bytes) -> None:
        """Store the way from the command and its files, if they are known, to the outcome's object."""
        if self.dependencies.is_file():
            files = parse_dependencies(self.dependencies.read_text(errors="surrogateescape"))
            plan, arguments = self.build.plan, (self.build.key or self.key).arguments
            compilation = Compilation(
                outcome.source,
                outcome.level,
                outcome.command,
                outcome.before,
                plan.compiler,
                bool(plan.gnu),
                self.build.clang_seconds,
                str(Path.cwd()),
                arguments,
                self.key.options.words,
                self.key.cxx,
                target=plan.target,
                surroundings=surroundings_of(plan, arguments),
            )
            self.memory.keep_source(
                self._of_object(reference), self.key.name, module, files, compilation, reference
            )


@dataclass(frozen=True)
class LinkRecollection:
    """One link of a whole program, and the memory of its build.

    Attributes:
        memory: The programs of all builds.
        key: Of the command, the linker's own program and the module of its units.
        build: Its build.
        link: The link.
        inputs: The files that it reads; () if they are gone when the command has ended.
    """

    memory: ObjectMemory
    key: str
    build: Build
    link: Compilation
    inputs: tuple[str, ...]

    @classmethod
    def of(
        cls,
        build: Build,
        unsearched: Outcome,
        clang_seconds: float,
        linked: bytes,
        bitcode: bytes,
        inputs: Iterable[Path],
    ) -> LinkRecollection | None:
        """Return a link's; None if its build remembers no programs.

        Args:
            build: The build.
            unsearched: The outcome so far.
            clang_seconds: The processor time of clang for the units.
            linked: The linker's own program.
            bitcode: The module of its units, before any pass.
            inputs: The files that the link reads.
        """
        options, key, plan = build.options, build.key, build.plan
        if not (key and options.memory and remembers(options)):
            return None
        job = plan.jobs[-1]
        link = Compilation(
            job.output or "a.out",
            unsearched.level,
            job.command,
            unsearched.before,
            plan.compiler,
            bool(plan.gnu),
            clang_seconds,
            str(Path.cwd()),
            key.arguments,
            key.options.words,
            key.cxx,
            is_link=True,
            target=plan.target,
        )
        files = tuple(map(str, inputs)) if len(plan.jobs) == 1 else ()
        return cls(memory_in(options.memory), key.of_module(linked + bitcode), build, link, files)

    @property
    def needed(self) -> float:
        """The seconds of search that the budget asks for at most."""
        return needed(self.build.options, self.link.compiler_seconds)

    def known(self) -> Kept | None:
        """Return an earlier build's program, or None if it is unknown.

        Raises:
            KeptReference: the program is to be searched once more, and is unknown.
        """
        with tolerant(self.memory):
            kept = self.memory.same_module(self.key)
            if self.build.effort is not None:
                if not kept:
                    raise KeptReference("it is not linked as before: the next build links it")
            elif kept and _had_enough(kept, self.build.options, self.link.compiler_seconds):
                self._keep_link()
                return kept
        return None

    def programs_of(self, units: Sequence[str]) -> Sequence[int]:
        """Return by how many programs' links each unit is searched; see ObjectMemory.share."""
        with tolerant(self.memory):
            return self.memory.share(units, Path(self.link.source).name)
        return [1] * len(units)

    def keep(self, outcome: Outcome, program: Path, *, described: bool = False) -> Outcome:
        """Store an outcome and its program, unless nothing was tried.

        A smaller program that is known takes its place, unless other files describe it.
        """
        if not (outcome.after or outcome.evaluations):
            return outcome
        content = program.read_bytes() if outcome.after else None
        effort = self.needed if self.build.effort is None else self.build.effort
        kept = Kept(self.key, effort, _found(outcome), content)
        with tolerant(self.memory):
            with self.memory.together():
                better = self.memory.keep(kept, _cost(outcome, self.build.options.objective))
                self._keep_link()
            if better.content != content and not described:
                return take(program, better, outcome)
        return outcome

    def _keep_link(self) -> None:
        if self.inputs and self.build.key:
            self.memory.keep_source(self.key, self.build.key.name, self.key, self.inputs, self.link, b"")


def take(program: Path, kept: Kept, outcome: Outcome) -> Outcome:
    """Replace a program by that of an earlier build, if this had a smaller one; return its outcome."""
    if kept.content is not None:
        write_atomically(program, kept.content)
    return kept.outcome(outcome)


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


def _had_enough(kept: Kept, options: DriverOptions, clang_seconds: float) -> bool:
    """Return whether the searches for an object had the effort that a budget asks for."""
    return kept.effort >= ENOUGH * needed(options, clang_seconds)


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
    if not _had_enough(kept, options, compiled.clang_seconds):
        return None
    outcome = Outcome(found.source, found.level, found.command, before=found.before)
    if kept.content is not None:
        stack_usage.rewrite(ClangJob(found.command), kept.content)
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
