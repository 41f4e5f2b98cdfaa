"""Trials for one object: its attempts, and the comparison of the best one with clang's object."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cc.copies import change_of_groups, group_bytes
from burnish.cc.isolation import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.outcomes import Outcome, Sizes, sizes_of
from burnish.cc.repeating import BEGIN, split_code
from burnish.cc.requests import Attempt, KeptReference, Optimizer, Request
from burnish.cc.trials import Trials
from burnish.core.trace import Trace, of_sites
from burnish.llvm.targets import REGISTERS, machine_of

if TYPE_CHECKING:
    from burnish import _native

Symbol = tuple[str, bool, int]
"""A symbol that other objects may rely on: its name, whether it is weak, and its visibility."""

_GLOBAL, _WEAK = 1, 2  # bindings of symbols: STB_*
_INTERNAL, _HIDDEN = 1, 2  # visibilities: STV_*


class ObjectTrials(Trials):
    """Trials for one object: the best attempt is compared with clang's object at the end.

    Attributes:
        makes_clangs: True if a search of variants has found that burnish's back end makes clang's object.
    """

    makes_clangs = False

    def __init__(
        self, module: bytes, job: ClangJob, reference: Path, optimizer: Optimizer, guard: Guard
    ) -> None:
        super().__init__(module, job.command, optimizer, guard)
        self.job, self.reference = job, reference
        self.own = reference.read_bytes()
        self.better = guard.workspace / "better.o"

    @property
    def is_for_registers(self) -> bool:
        """True if the machine has registers: for WebAssembly, code generation has few decisions."""
        return machine_of(self.job.value("-triple") or "") in REGISTERS

    def finish(self, module: _native.Module) -> bool:
        """See Trials."""
        return module.join_groups()

    def finished(self, found: Attempt) -> Attempt:
        """See Trials."""
        from burnish import _native

        module = _native.Module(super().finished(found).bitcode, "optimized")
        return replace(found, bitcode=module.bitcode(), emitted=None) if self.finish(module) else found

    def try_variants(self, request: Request) -> bool:
        """See Trials."""
        made = super().try_variants(request)
        self.makes_clangs = made and bool(self.best or self.level) and self.own is not None
        return made

    def repeat(self, trace: Trace, request: Request, *, checks: bool = True) -> None:
        """See Trials; passes and code in one step where burnish's back end makes the object.

        Without `checks`, an earlier build has found that it does.
        """
        at_once = repeats_at_once(trace)
        repeated = partial(self.repeated, trace, request, checks=checks)
        if not (at_once and self._taken(lambda: self.guard.step(repeated))):
            super().repeat(trace, request)

    def repeated(self, trace: Trace, request: Request, *, checks: bool) -> Attempt:
        """Return the attempt of an earlier trace, in this process; see variants.repeated.

        `repeats_at_once` must be true for the trace.
        """
        from burnish.cc import variants  # loads LLVM, so only in this process

        return variants.repeated(self._start(), request, trace, checks=checks)

    def take(self, attempt: Attempt) -> None:
        """See Trials; an object that is larger than the best one so far is dropped."""
        made = self.guard.workspace / "made.o"
        made.write_bytes(self.generate(attempt.bitcode) if attempt.code is None else attempt.code)
        if self.best and self._is_larger(made):
            return
        made.replace(self.better)
        self.best = attempt

    def _is_larger(self, made: Path) -> bool:
        """Return whether an object has more of the objective than the best one."""
        best, now = sizes_of(self.better, self.job), sizes_of(made, self.job)
        if not (best and now) or self.objective == "ir-instructions":
            return False
        return now.bytes_of(self.objective) > best.bytes_of(self.objective)

    def generated(self) -> tuple[Attempt, bytes]:
        """See Trials; if no passes were found, return clang's own module."""
        if self.best:
            return self.plain(self.better.read_bytes())
        assert self.own is not None
        level = self.level
        if level and level.emitted and level.emitted.code == self.own:
            return level, self.own
        return Attempt(self.clangs_module(), (), 0), self.own

    def plain(self, code: bytes) -> tuple[Attempt, bytes]:
        """Return the best attempt without decisions on code, and its object; `code` is the one with them."""
        assert self.best
        passes, decisions = split_code(self.best.trace)
        if not decisions:
            return self.best, code
        best = replace(self.best, trace=passes, code=None)
        return best, self.generate(best.bitcode)

    def generate(self, bitcode: bytes) -> bytes:
        """Return the object that the compiler's code generation makes of a module after its passes.

        Raises:
            KeptReference: it fails.
        """
        back, made = self.guard.workspace / "back.bc", self.guard.workspace / "made.o"
        back.write_bytes(bitcode)
        self.guard.run(self.job.code_generation(back, made).command)
        return made.read_bytes()

    def compared(self, outcome: Outcome, objective: str) -> Outcome:
        """Return the outcome with the best object, compared with clang's.

        Raises:
            KeptReference: no attempt succeeded, or the best object is not better than clang's.
        """
        if not self.best:
            raise KeptReference("; ".join(dict.fromkeys(self.reasons)))
        _check_symbols(*self.symbols())
        before, after = (Sizes.of_object(path, self.job) for path in (self.reference, self.better))
        if after.loaded_bytes > before.loaded_bytes:
            raise KeptReference("what was found loads more bytes")
        groups = change_of_groups(*self.groups())
        if after.loaded_bytes + groups.elsewhere > before.loaded_bytes:
            raise KeptReference(
                "what was found loads more bytes beside objects with the same inline functions"
            )
        if after.constant_bytes > before.constant_bytes:
            raise KeptReference("what was found has more bytes of code and read-only data")
        match objective:
            case "ir-instructions":
                self._fewer_instructions(self.best)
            case "text-bytes" if after.text_bytes >= before.text_bytes:
                raise KeptReference("nothing smaller was found")
            case "loaded-bytes" if after.loaded_bytes == before.loaded_bytes:
                raise KeptReference("nothing smaller was found")
        found = replace(outcome, action="optimized", after=after, better=self.better, trace=self.best.trace)
        return replace(found, saved_in_groups=groups.saved)

    def _fewer_instructions(self, best: Attempt) -> None:
        """Raise KeptReference unless the best module has fewer IR instructions than clang's own."""
        own = self.clangs_module()

        def count() -> list[int]:
            from burnish import _native

            return [_native.Module(code, "module").instruction_count() for code in (own, best.bitcode)]

        before, after = self.guard.step(count)
        if after >= before:
            raise KeptReference(
                f"nothing smaller was found: {after:,} IR instructions, clang's has {before:,}"
            )

    def symbols(self) -> tuple[frozenset[Symbol], frozenset[Symbol]]:
        """Return the symbols that clang's object and the best one offer to other objects."""
        return offered_symbols(self.reference.read_bytes()), offered_symbols(self.better.read_bytes())

    def groups(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the bytes of each COMDAT group in clang's object, and in the best one."""
        return group_bytes(self.reference.read_bytes()), group_bytes(self.better.read_bytes())

    def clangs_module(self) -> bytes:
        """Return the module after clang's own passes."""
        path = self.guard.workspace / "clang.bc"
        self.guard.run(self.job.clang_bitcode(path).command)
        return path.read_bytes()


def repeats_at_once(trace: Trace) -> bool:
    """Return whether one step repeats passes and code of a trace: not those with answers to the inliner."""
    return BEGIN in trace and not of_sites(trace[:1])


def in_groups(bitcode: bytes) -> bytes:
    """Return a module after its last pass, with local functions in COMDAT groups (native/groups.h).

    A local function that only one group uses joins it. A linker that drops the group drops the function, too.
    """
    from burnish import _native

    module = _native.Module(bitcode, "optimized")
    return module.bitcode() if module.join_groups() else bitcode


def offered_symbols(elf: bytes) -> frozenset[Symbol]:
    """Return the symbols of an object that other objects may rely on.

    Internal visibility is that of hidden symbols, as in clang's objects; GCC's tell them apart.
    These are all definitions that are not local, except weak ones in a COMDAT group: inline functions and
    templates, which each object that uses one defines itself. (ELF specification, chapter 4.)

    Raises:
        ValueError: the content is not a little-endian ELF object.
    """
    from burnish import _native

    return frozenset(
        (
            symbol.name,
            symbol.binding == _WEAK,
            _HIDDEN if symbol.visibility == _INTERNAL else symbol.visibility,
        )
        for symbol in _native.elf_symbols(elf)
        if symbol.is_defined
        and (symbol.binding == _GLOBAL or (symbol.binding == _WEAK and symbol.group is None))
    )


def _check_symbols(reference: frozenset[Symbol], better: frozenset[Symbol]) -> None:
    """Raise KeptReference if two objects do not offer the same symbols to other objects."""
    change = reference ^ better
    if change:
        name, _, _ = min(change)
        raise KeptReference(f"the symbol {name!r} would not be as clang defines it ({len(change)} such)")
