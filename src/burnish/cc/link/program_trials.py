"""Trials for one program: each attempt is linked at once in place of the units' objects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from burnish import _native
from burnish.cc.file_budget import FileBudget
from burnish.cc.link.merging import Merged, replaced
from burnish.cc.linked import read_linked
from burnish.cc.lock import UNITS, locked_trace
from burnish.cc.outcomes import USED_UP, Outcome, Sizes, level_of_passes
from burnish.cc.processes import idle_processors
from burnish.cc.repeating import split_code
from burnish.cc.requests import DEFAULT_OBJECTIVE, Attempt, KeptReference, Request, Start
from burnish.cc.trials import Trials
from burnish.core.trace import Trace
from burnish.files import write_atomically

# Least times of the steps, in compilations of the module by the level's own passes. In less, attributes are
# not chosen, a search of passes finds nothing for a whole program, and a search of code has no joined result:
# then it is a short search.
TRIALS_OF_FUNCTIONS, TRIALS_OF_PASSES, TRIALS_OF_CODE, TRIALS_OF_SHORT_CODE = 1.0, 20.0, 4.0, 0.5
TRIALS_OF_SHARED = 2.0  # a variant and the joined object: the least time for a search of shared units
TRIALS_OF_VARIANTS = 8.0  # at least; variants come first, and are all that a short time is for
CODE_SHARE = 0.5  # of the time of a search
VARIANTS_SHARE = 0.15  # of that time, at least
MOST_PROCESSES = 8  # of variants at the same time; each holds the program's module
FEW_UNITS = 4  # with fewer, one unit takes as long as much of the program
# A search ends after this many evaluations without a gain: see burnish.cc.improve.
LEAST_PATIENCE, BYTES_OF_PATIENCE = 256, 16

_LOCAL, _WEAK = 0, 2  # bindings of symbols: STB_*


class ProgramTrials(Trials):
    """Trials for one program: each attempt is linked at once, and compared with the best."""

    def __init__(self, merged: Merged, before: Sizes) -> None:
        self.pattern, self.build, self.name = merged.pattern, merged.build, merged.job.output.name
        super().__init__(merged.bitcode, self.pattern.command, self.build.optimizer, merged.guard)
        self.merged, self.before = merged, before
        self.programs: list[Path] = []  # one for each attempt
        self.program: Path | None = None  # of the best attempt
        self.after: Sizes | None = None  # sizes of `program`
        self.level_seconds = 0.0  # for the level's own passes, code generation and link

    def run(self, outcome: Outcome, known: Trace = ()) -> Outcome:
        """Try the level's passes, attributes of functions, a search of passes and of code; write the best.

        An earlier build's trace, or that of a lock, is tried in the place of all after the level's passes.

        Raises:
            KeptReference: the best program does not link a second time, or the lock has no trace for it.
        """
        options, job = self.build.options, self.merged.job
        trace = known or (locked_trace(options.lock, job.output, UNITS) if options.lock else ())
        level = self.try_level()
        if trace:
            self.repeat(trace, Request(self.name, level_of_passes(self.merged.level), options))
        else:
            self.search(level)
        reason = self.reasons[-1] if self.reasons else ""
        outcome = replace(outcome, reason=reason, evaluations=self.evaluations)
        if not (self.best and self.program):
            return replace(outcome, reason=reason or "nothing smaller was found")
        if job.has_side_files:
            self.relink(self.program, side_files=True)
        write_atomically(job.output, self.program.read_bytes())
        return replace(outcome, action="optimized", after=self.after, trace=self.best.trace)

    def search(self, level: Sizes | None) -> None:
        """Try attributes of functions, then a search of passes and of code; `level` is as for `request`."""
        with self.build.budget(self.merged.clang_seconds) as budget:
            if budget is None:
                self.reasons.append(USED_UP)
            else:
                request = self.request(budget, level)
                if not self.merged.is_first and budget.multiple and self.is_late(request, TRIALS_OF_SHARED):
                    return
                start = request.clock.now()
                tried = self.try_variants(request)
                if request.until is not None:  # several processes at a time count as one
                    others = (1 - 1 / request.processes) * (request.clock.now() - start)
                    request = replace(request, until=request.until + others)
                if tried and self.is_late(request, TRIALS_OF_VARIANTS):
                    return
                passes, code = request.divided()
                if not self.is_late(passes, TRIALS_OF_FUNCTIONS):
                    passes = self.try_functions(passes)
                if not self.is_late(passes, TRIALS_OF_PASSES if code and self.best else 0.0):
                    self.try_passes(passes)
                if code and self.best and not self.is_late(code, TRIALS_OF_SHORT_CODE):
                    self.try_code(replace(code, short_code=self.is_late(code, TRIALS_OF_CODE)))

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
        if self.build.options.searches_code and request.evaluations is None:
            request = replace(request, code_share=CODE_SHARE, short_code=False)
        return replace(
            request.from_now(),
            options=replace(request.options, inline_policy=None),
            patience=max(LEAST_PATIENCE, before.text_bytes // BYTES_OF_PATIENCE),
            processes=min(MOST_PROCESSES, idle_processors()),
            code_growth=max(1.0, before.constant_bytes / max(1, level.constant_bytes)) if level else 1.0,
        )

    def try_level(self) -> Sizes | None:
        """Try the level's own passes; return the sizes of their program, or None if they fail."""
        clock, options, name = self.build.compiled.clock, self.build.options, self.name
        bitcode, level = self.module, level_of_passes(self.merged.level)
        job = self.pattern.silenced() if options.searches_code and options.limits_calls else None
        start = clock.now()

        def by_level() -> Attempt:
            from burnish.cc.link import function_variants  # loads LLVM, so only in the child process

            return function_variants.by_level(bitcode, name, level, job)

        with self.trying():
            self.level = self.guard.step(by_level)
            sizes = self.linked(self.with_code(self.level))
            self.own = object_of(self.programs[-1]).read_bytes()
            self.level_seconds = clock.now() - start
            return sizes
        return None

    def with_code(self, level: Attempt) -> Attempt:
        """Return the attempt with burnish's object, where clang's back end need not make it again.

        For that, both back ends make the object of one unit.
        """
        units = sorted(self.merged.units, key=lambda unit: len(unit.bitcode))
        if not level.emitted or len(units) < FEW_UNITS:
            return level
        module, job = units[len(units) // 2].bitcode, self.pattern.silenced()
        clangs = self.build.workspace / "unit.o"
        self.generate(module, clangs)

        def own() -> bytes:
            from burnish.cc.back_end import emit

            return emit(module, job)

        if self.guard.step(own) != clangs.read_bytes():
            return level
        return replace(level, code=level.emitted.code)

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

    def try_variants(self, request: Request) -> bool:
        """See Trials; a part of the time is for that. Without a limit on time, return False.

        The time is that of one process, also where several make variants. One makes the joined object, or two
        of them, one after the other.
        """
        if not self.level or self.own is None or request.until is None or not request.begins_with_variants:
            return False
        left = request.seconds_left()
        part = min(left, max(TRIALS_OF_VARIANTS * self.level_seconds, VARIANTS_SHARE * left))
        joined = self.level.emitted.seconds if self.level.emitted else 0.0
        others = (request.processes - 1) * max(0.0, part - 2 * joined)
        return super().try_variants(replace(request, until=request.until - left + part - joined + others))

    def _start(self) -> Start:
        return replace(super()._start(), level_bitcode=self.level.bitcode if self.level else None)

    def is_late(self, request: Request, trials: float) -> bool:
        """Return whether the time left is too short for this many compilations of the module."""
        if request.until is None:
            return False
        return request.until - request.clock.now() <= trials * self.level_seconds

    def generated(self) -> tuple[Attempt, bytes]:
        """See Trials; called only if an attempt is better than the linker's own program."""
        assert self.best and self.program
        passes, decisions = split_code(self.best.trace)
        best, code = replace(self.best, trace=passes, code=None), object_of(self.program)
        if decisions:
            code = self.build.workspace / "undecided.o"
            self.generate(best.bitcode, code)
        if not best.calls and self.level and self.own is not None:
            best = replace(best, calls=self.level.calls)
        return best, code.read_bytes()

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
            self.generate(attempt.bitcode, object_of(path))
        else:
            self.place(attempt.code, object_of(path))
        self.relink(path)
        self.check(path)
        sizes = self.sizes(path)
        if self.is_better(sizes):
            self.best, self.program, self.after = attempt, path, sizes
        return sizes

    def sizes(self, path: Path) -> Sizes:
        """Return the sizes of a linked program."""
        return Sizes.of_linked(read_linked(path))

    def generate(self, bitcode: bytes, output: Path) -> None:
        """Write the object of a module after its passes.

        Raises:
            KeptReference: code generation fails.
        """
        path = output.with_suffix(".bc")
        path.write_bytes(bitcode)
        self.guard.run(self.pattern.silenced().code_generation(path, output).command)

    def place(self, code: bytes, output: Path) -> None:
        """Write the object that burnish's back end made of a module."""
        output.write_bytes(code)

    def check(self, path: Path) -> None:
        """Raise KeptReference if a linked attempt has other symbols for its users than the linker's program.

        Weak symbols may come and go if lld allows that when it resolves the module (no pass removes one):
        they are inline functions and templates, which each user has
        (GlobalValue::canBeOmittedFromSymbolTable).
        """
        old, new = self.merged.job.output.read_bytes(), path.read_bytes()
        if change := _strong(old, dynamic=True) ^ _strong(new, dynamic=True):
            raise KeptReference(f"the dynamic symbol {min(change)!r} would not be as the linker defines it")
        before = {one.name for one in _defined(old)}
        if before and (more := self.unexpected(_strong(new) - before)):
            raise KeptReference(f"the symbol {min(more)!r} would come from elsewhere")

    def unexpected(self, new: set[str]) -> set[str]:
        """Return the symbols of `new`, which the linker's program lacks, that a program must not have."""
        return new

    def relink(self, path: Path, *, side_files: bool = False) -> None:
        """Link a program with the object of its module; maps and other files beside it are optional."""
        words = replaced(self.merged.words, object_of(path))
        self.merged.job.changed(words, path, side_files=side_files).run(self.guard.step_seconds)

    def is_better(self, sizes: Sizes) -> bool:
        """Return whether a program is smaller than the best, and in no size larger than the linker's own.

        Data that nothing changes may become read-only: in one module, LLVM sees that.
        """
        before, best = self.before, self.after or self.before
        became_constant = max(0, before.data_bytes - sizes.data_bytes)
        if sizes.loaded_bytes > before.loaded_bytes:
            return False
        if sizes.constant_bytes > before.constant_bytes + became_constant:
            return False
        limit = self.build.options.ram_limit
        if limit is not None and sizes.ram_bytes > limit * before.ram_bytes:
            return False
        objective = self.build.options.objective
        return sizes.bytes_of(objective) < best.bytes_of(objective)


def object_of(path: Path) -> Path:
    """Return the path of the module's object, from which the program at `path` is linked."""
    return path.with_suffix(".o")


def _strong(file: bytes, *, dynamic: bool = False) -> set[str]:
    return {one.name for one in _defined(file, dynamic=dynamic) if one.binding != _WEAK}


def _defined(file: bytes, *, dynamic: bool = False) -> list[_native.ElfSymbol]:
    return [one for one in _native.elf_symbols(file, dynamic) if one.is_defined and one.binding != _LOCAL]
