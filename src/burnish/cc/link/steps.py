"""The steps of a drop-in compiler with --whole-program after clang: first the units, then the link.

A module takes the place of the units' objects in the linker's own program, if that program becomes smaller.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from burnish import _native
from burnish.cc import processes
from burnish.cc.file_budget import FileBudget
from burnish.cc.jobs import ClangJob
from burnish.cc.link.link_job import LinkJob, link_job_of
from burnish.cc.link.merging import Merged, merge, replaced
from burnish.cc.link.units import SECTION, ProgramUnit, seal_of
from burnish.cc.linked import read_linked
from burnish.cc.object_trials import code_generation, front_end
from burnish.cc.outcomes import USED_UP, Build, Outcome, Sizes, level_of_passes, passed_through
from burnish.cc.refusals import too_small
from burnish.cc.requests import DEFAULT_OBJECTIVE, Attempt, KeptReference, Request
from burnish.cc.trials import Trials
from burnish.core.errors import BurnishError, InputError
from burnish.files import write_atomically

TRIALS_TO_BEGIN = 2.0  # least time of a search (its reference, first trace), in compilations of the module
TRIALS_OF_FUNCTIONS = 1.0  # the same of by_functions: code without and with one attribute, and of the choice
# A search ends after this many evaluations without a gain: see burnish.cc.improve.
LEAST_PATIENCE, BYTES_OF_PATIENCE = 256, 16

_LOCAL, _WEAK = 0, 2  # bindings of symbols: STB_*


def outcomes_of(build: Build) -> Iterator[tuple[Outcome, Path]]:
    """Put units into the objects that clang wrote, and make the program that it linked smaller.

    Yields:
        The outcome of each compilation that burnish refuses, and of the link, with the output file.
    """
    plan, written = build.plan, build.compiled.written
    refused, began = False, build.compiled.ended
    for job in plan.compilations:
        output = job.output_path if plan.reader(job) is None else plan.jobs[-1].output_path
        if output not in written:
            continue
        if why := build.refusal(job):
            refused = True
            yield passed_through(job, why), output
        elif plan.reader(job) is None:
            with contextlib.suppress(KeptReference, ValueError, InputError):
                _embed(build, job, output, began)
                began = build.compiled.clock.now()
    linker = link_job_of(plan.jobs)
    if linker and linker.output in written and not (refused and len(plan.compilations) == 1):
        yield _link(build, linker), linker.output


def _link(build: Build, linker: LinkJob) -> Outcome:
    """Return the outcome of a link whose objects may have units."""
    outcome = Outcome(_source(0), "", build.plan.jobs[-1].command)
    try:
        before = Sizes.of_linked(read_linked(linker.output))
    except InputError as error:
        return replace(outcome, reason=str(error))
    why_not = linker.why_not or too_small(before.text_bytes, program=True) or ""
    outcome = replace(outcome, before=before, reason=why_not)
    if why_not:
        return outcome
    try:
        objects = _compiled_again(build)
    except (KeptReference, OSError) as why:
        return outcome.unused(str(why))
    again = {index: (objects[word],) for index, word in enumerate(linker.command) if word in objects}
    job = linker.changed(again, linker.output, side_files=True)
    return _improve(build, job, outcome, before)


def _embed(build: Build, job: ClangJob, output: Path, began: float) -> None:
    """Write the unit of a job into the object that clang made; burnish's time for it counts from `began`."""
    front = build.workspace / "unit.bc"
    build.guard().run(front_end(job.silenced(), front).command)
    content = output.read_bytes()
    spent = build.compiled.clock.now() - began
    unit = ProgramUnit(front.read_bytes(), job.command, build.clang_seconds, seal_of(content), spent)
    write_atomically(output, _native.with_section(content, SECTION, unit.encode()))


def _compiled_again(build: Build) -> dict[str, Path]:
    """Make the objects that clang linked and deleted again, with units; return them by name in the plan."""
    made: dict[str, Path] = {}
    for number, job in enumerate(build.plan.jobs[:-1]):
        if not job.output or build.plan.reader(job) is None:
            continue
        output = build.workspace / f"again-{number}" / Path(job.output).name
        output.parent.mkdir()
        again = job.silenced().with_paths(made).with_output(output)
        build.guard().run(again.command)
        made[job.output] = output
        if job.compiles and not build.refusal(job):
            with contextlib.suppress(ValueError):
                _embed(build, job.with_output(output), output, build.compiled.clock.now())
    return made


def _improve(build: Build, job: LinkJob, outcome: Outcome, before: Sizes) -> Outcome:
    """Replace the program of a link by a smaller one, if there is one."""
    clock = build.compiled.clock
    start = clock.now()
    try:
        merged = merge(build, job)
        outcome = replace(outcome, source=_source(len(merged.units)), level=merged.level)
        outcome = ProgramTrials(merged, before).run(outcome)
    except (KeptReference, BurnishError, OSError) as why:
        outcome = replace(outcome, reason=str(why))
    except Exception as error:  # burnish's boundary: its errors never make a build fail
        outcome = replace(outcome, reason=f"{type(error).__name__}: {error}")
    return replace(outcome, seconds=clock.now() - start)


def _source(units: int) -> str:
    return f"{units} units"


class ProgramTrials(Trials):
    """Trials for one program: each attempt is linked at once, and compared with the best."""

    def __init__(self, merged: Merged, before: Sizes) -> None:
        self.pattern, self.build, self.name = merged.pattern, merged.build, merged.job.output.name
        super().__init__(merged.bitcode, self.pattern.command, self.build.optimizer, merged.guard)
        self.merged, self.before = merged, before
        self.programs: list[Path] = []  # one for each attempt
        self.program: Path | None = None  # of the best attempt
        self.after: Sizes | None = None  # sizes of `program`
        self.level: Attempt | None = None  # the module after the level's own passes
        self.level_seconds = 0.0  # for the level's own passes, code generation and link

    def run(self, outcome: Outcome) -> Outcome:
        """Try the level's passes, attributes of functions, a search of passes and of code; write the best.

        Raises:
            KeptReference: the best program does not link a second time.
        """
        level = self.try_level()
        with self.build.budget(self.merged.clang_seconds) as budget:
            if budget is None:
                self.reasons.append(USED_UP)
            else:
                passes, code = self.request(budget, level).divided()
                if not self.is_late(passes, TRIALS_OF_FUNCTIONS):
                    passes = self.try_functions(passes)
                if not self.is_late(passes, TRIALS_TO_BEGIN if code and self.best else 0.0):
                    self.try_passes(passes)
                if code and self.best and not self.is_late(code, 0.0):
                    self.try_code(code)
        reason = self.reasons[-1] if self.reasons else ""
        outcome = replace(outcome, reason=reason, evaluations=self.evaluations)
        if not (self.best and self.program):
            return replace(outcome, reason=reason or "nothing smaller was found")
        job = self.merged.job
        if job.has_side_files:
            self.relink(self.program, side_files=True)
        write_atomically(job.output, self.program.read_bytes())
        return replace(outcome, action="optimized", after=self.after, trace=self.best.trace)

    def request(self, budget: FileBudget, level: Sizes | None) -> Request:
        """Return the request to the search.

        A budget that is a multiple of clang's time also counts burnish's time for the units before the link.

        Args:
            budget: The budget of the search and of the attributes of functions.
            level: The sizes of the program after the level's own passes; None if it did not link. If it has
                less code and read-only data than the linker's program, code may grow by the difference where
                this makes unwind tables smaller.
        """
        merged, before = self.merged, self.before
        began = self.build.compiled.ended - sum(unit.spent_seconds for unit in merged.units)
        request = self.build.request(self.name, merged.level, merged.clang_seconds, began, budget)
        return replace(
            request.from_now(),
            options=replace(request.options, inline_policy=None),
            patience=max(LEAST_PATIENCE, before.text_bytes // BYTES_OF_PATIENCE),
            code_growth=max(1.0, before.constant_bytes / max(1, level.constant_bytes)) if level else 1.0,
        )

    def try_level(self) -> Sizes | None:
        """Try the level's own passes; return the sizes of their program, or None if they fail."""
        clock, options, name = self.build.compiled.clock, self.build.options, self.name
        bitcode, level = self.merged.bitcode, level_of_passes(self.merged.level)
        with_run_time = options.searches_code and options.speed_limit is not None
        start = clock.now()

        def by_level() -> Attempt:
            from burnish.cc.link import function_variants  # loads LLVM, so only in the child process

            return function_variants.by_level(bitcode, name, level, with_run_time=with_run_time)

        with self.trying():
            self.level = self.guard.step(by_level)
            sizes = self.linked(self.level)
            self.own = object_of(self.programs[-1]).read_bytes()
            self.level_seconds = clock.now() - start
            return sizes
        return None

    def try_functions(self, request: Request) -> Request:
        """Try attributes of functions; return the request of a search, which begins with them if better."""
        level = self.level
        if request.remembered or request.objective != DEFAULT_OBJECTIVE or not level:
            return request
        forked = request.forked()

        def by_functions() -> Attempt:
            from burnish.cc.link import function_variants

            return function_variants.by_functions(level.bitcode, forked)

        with self.trying():
            found = self.guard.search(by_functions)
            self.take(found)
            if self.best is found:
                return replace(request, begin=found.trace)
        return request

    def is_late(self, request: Request, trials: float) -> bool:
        """Return whether the time left is too short for this many compilations of the module."""
        if request.until is None:
            return False
        return request.until - request.clock.now() <= trials * self.level_seconds

    def generated(self) -> tuple[Attempt, bytes]:
        """See Trials; called only if an attempt is better than the linker's own program."""
        assert self.best and self.program
        best = self.best
        if not best.run_time and self.level and self.own is not None:
            best = replace(best, run_time=self.level.run_time)
        return best, object_of(self.program).read_bytes()

    def take(self, attempt: Attempt) -> None:
        """See Trials."""
        self.linked(attempt)

    def linked(self, attempt: Attempt) -> Sizes:
        """Link an attempt, and keep it if it is better than the best; return the sizes of its program.

        Raises:
            KeptReference: a step fails, or the program's symbols would differ for its users.
            InputError: the output is not a program.
        """
        path = self.build.workspace / f"program-{len(self.programs)}"
        self.programs.append(path)
        if attempt.code is None:
            generate(self.pattern, attempt.bitcode, object_of(path), self.guard.step_seconds)
        else:
            object_of(path).write_bytes(attempt.code)
        self.relink(path)
        _same_symbols(self.merged.job.output, path)
        sizes = Sizes.of_linked(read_linked(path))
        if self.is_better(sizes):
            self.best, self.program, self.after = attempt, path, sizes
        return sizes

    def relink(self, path: Path, *, side_files: bool = False) -> None:
        """Link a program with the object of its module; maps and other files beside it are optional."""
        words = replaced(self.merged.words, object_of(path))
        self.merged.job.changed(words, path, side_files=side_files).run(self.guard.step_seconds)

    def is_better(self, sizes: Sizes) -> bool:
        """Return whether a program is smaller than the best, and in no size larger than the linker's own."""
        before, best = self.before, self.after or self.before
        if sizes.loaded_bytes > before.loaded_bytes or sizes.constant_bytes > before.constant_bytes:
            return False
        if self.build.options.objective == "text-bytes":
            return sizes.text_bytes < best.text_bytes
        return sizes.loaded_bytes < best.loaded_bytes


def generate(job: ClangJob, bitcode: bytes, output: Path, deadline_seconds: float) -> None:
    """Write the object of a module after its passes.

    Raises:
        KeptReference: clang fails.
    """
    path = output.with_suffix(".bc")
    path.write_bytes(bitcode)
    processes.run_quietly(code_generation(job.silenced(), path, output).command, deadline_seconds)


def object_of(path: Path) -> Path:
    """Return the path of the module's object, from which the program at `path` is linked."""
    return path.with_suffix(".o")


def _same_symbols(reference: Path, better: Path) -> None:
    """Raise KeptReference if users of a program could miss a symbol, or find a new one.

    Weak symbols may come and go if lld allows that when it resolves the module (no pass removes one): they
    are inline functions and templates, which each user has (GlobalValue::canBeOmittedFromSymbolTable).
    """
    old, new = (path.read_bytes() for path in (reference, better))
    if change := _strong(old, dynamic=True) ^ _strong(new, dynamic=True):
        raise KeptReference(f"the dynamic symbol {min(change)!r} would not be as the linker defines it")
    before = {one.name for one in _defined(old)}
    if before and (more := _strong(new) - before):
        raise KeptReference(f"the symbol {min(more)!r} would come from elsewhere")


def _strong(file: bytes, *, dynamic: bool = False) -> set[str]:
    return {one.name for one in _defined(file, dynamic=dynamic) if one.binding != _WEAK}


def _defined(file: bytes, *, dynamic: bool = False) -> list[_native.ElfSymbol]:
    return [one for one in _native.elf_symbols(file, dynamic) if one.is_defined and one.binding != _LOCAL]
