"""A program's module after the level's own passes, and more of what changes one function at a time.

Attributes for the code generator and passes of functions change only the code of their own function. So one
code generation of the module, with the same change at every function, tries it at all functions at once
(native/sizes.h gives the bytes of a function). A search would need one trial for each function and choice.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from burnish import _native
from burnish.cc import back_end
from burnish.cc.jobs import ClangJob
from burnish.cc.requests import Attempt, Request
from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.llvm.modules.debug_info import check_code
from burnish.llvm.modules.module import emit_described, object_sizes, run_pass
from burnish.llvm.modules.objectives import slowdown, slowdowns, stack_shares
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.modules.passes import ACTIONS
from burnish.llvm.toolchain import is_native
from burnish.tasks.llvm_passes import LANGUAGE

VARIANTS: tuple[Trace, ...] = (
    ("frame-pointer<calls=0>",),
    ("no-minsize",),
    ("no-jump-tables",),
    ("frame-pointer<calls=0>", "no-jump-tables"),
)
# Passes of functions, tried one after the other, the ones that gained most for their time first. (Sums over
# mbedTLS for x86-64 and for Cortex-M4.)
PASSES_LAST = (
    "hoist-common<no-free>",
    "sink-common",
    "gvn<no-load-pre>",
    "function-simplification<O1>",
    "loop-reduce",
    "lower-switch",
    "sink",
    "separate-const-offset-from-gep<lower-gep>",
    "reg2mem",
)
SHARE_OF_PASSES_LAST = 0.4  # of the time that is left; the rest is for a search
PASSES_FIRST = ("outline<call-cost=2>",)  # after the level's own, if the program stays within the speed limit
_OUTLINED = "OUTLINED_FUNCTION_"  # llvm/lib/CodeGen/MachineOutliner.cpp


@dataclass(frozen=True)
class _Share:
    """A function's part of a module."""

    loaded_bytes: int
    constant_bytes: int  # code and read-only data


@dataclass(frozen=True)
class _Generated:
    """The sizes and expected run times of a module's generated code."""

    shares: Mapping[str, _Share]
    loaded_bytes: int
    constant_bytes: int
    calls: CallCosts
    outlined: bool  # LLVM's machine outliner moved instructions of functions into new ones


@dataclass(frozen=True)
class Choice:
    """A variant of a function, with the bytes that it saves and adds."""

    function: str
    variant: Trace
    saved_bytes: int  # loaded
    grown_bytes: int  # code and read-only data


def by_level(bitcode: bytes, name: str, level: str, job: ClangJob | None) -> Attempt:
    """Run clang's pipeline of the level on a program's module, as if it were one file.

    With a job, the attempt has the object by burnish's back end with the job's options, and the expected run
    time. A later step would have to repeat these passes for it.
    """
    module = _native.Module(bitcode, name)
    module.set_level_attributes(level)
    module.honour_mandatory()
    pipeline = f"clang<{level}>"
    module.run(pipeline, level)
    found = Attempt(module.bitcode(), (pipeline,), 0)
    if not job:
        return found
    if not back_end.back_end_of(job):
        return replace(found, calls=CallCosts.of(_described(module, level)))
    emitted = back_end.emit_described(found.bitcode, job)
    return replace(found, calls=emitted.calls, emitted=emitted)


def by_functions(bitcode: bytes, request: Request) -> Attempt:
    """Outline, give each function the attributes that make it smallest, and run passes where they help.

    Args:
        bitcode: A module after the level's own passes. Debug information does not influence the choice.
        request: Its `code_growth` limits the code, and its speed limit the expected run time of the program
            and of each function, both in units of the result of the level's passes.

    Raises:
        CompilerCrash: LLVM crashes, or its result with debug information differs from that without.
    """
    described = _native.Module(bitcode, request.name)
    module = described.clone()
    module.drop_debug_info()
    choice = _Chosen.beginning(module, request)
    choice.outline()
    choice.give_attributes()
    attributes = choice.changes
    choice.run_passes()
    try:
        found = _with_debug_info(described, choice.module.bitcode(), choice.changes, request)
    except CompilerCrash:
        if choice.changes == attributes:
            raise
        choice.changes = attributes  # a pass does otherwise where there is debug information
        module = _native.Module(bitcode, request.name)
        module.drop_debug_info()
        _repeat(module, attributes, request.level)
        found = _with_debug_info(_native.Module(bitcode, request.name), module.bitcode(), attributes, request)
    trace = (f"clang<{request.level}>", *itertools.starmap(entry, choice.changes))
    return Attempt(found, trace, choice.generations)


# An action, and the function that it changes, or WHOLE_PROGRAM.
Change = tuple[str, str]


@dataclass
class _Chosen:
    """A module without debug information after the changes that were chosen so far."""

    module: _native.Module
    request: Request
    reference: _Generated  # after the level's passes
    now: _Generated
    changes: tuple[Change, ...] = ()
    generations: int = 1  # of code

    @classmethod
    def beginning(cls, module: _native.Module, request: Request) -> _Chosen:
        made = _generated(module, request.level)
        return cls(module, request, made, made)

    @property
    def room(self) -> int:
        """The bytes of code and read-only data by which the module may grow."""
        return int(self.request.code_growth * self.reference.constant_bytes - self.now.constant_bytes)

    def outline(self) -> None:
        """Run PASSES_FIRST, if the program stays within the speed limit."""
        other = self.module.clone()
        changes = tuple((action, WHOLE_PROGRAM) for action in PASSES_FIRST)
        _repeat(other, changes, self.request.level)
        made = self._made(other)
        if self._is_within(made):
            self.module, self.now, self.changes = other, made, changes

    def give_attributes(self) -> None:
        """Give each function the variant that saves most, as far as the module may grow."""
        found: list[Choice] = []
        for variant in VARIANTS:
            if self._is_late(self.request.until):
                break
            if "no-minsize" in variant and self.now.outlined:
                continue  # the outliner leaves such a function alone: what it saves depends on all others
            found += self._choices(variant)
        if chosen := choose(found, self.room):
            self._take(chosen)

    def run_passes(self) -> None:
        """Run each pass at the functions that it makes smaller, if the module becomes smaller, too."""
        clock, until = self.request.clock, self.request.until
        if until is not None:
            until = clock.now() + SHARE_OF_PASSES_LAST * (until - clock.now())
        for action in PASSES_LAST:
            if self._is_late(until):
                break
            chosen = choose(self._choices((action,)), self.room)
            if not chosen:
                continue
            before = self.module.clone(), self.now, self.changes
            self._take(chosen)
            if self.now.loaded_bytes >= before[1].loaded_bytes or not self._is_within(self.now):
                self.module, self.now, self.changes = before

    def _take(self, chosen: Sequence[Choice]) -> None:
        changes = tuple((action, one.function) for one in chosen for action in one.variant)
        _repeat(self.module, changes, self.request.level)
        self.changes += changes
        self.now = self._made(self.module)

    def _choices(self, variant: Trace) -> list[Choice]:
        """Return the functions where a variant saves bytes, within the limits on calls."""
        other = self.module.clone()
        _repeat(other, [(action, WHOLE_PROGRAM) for action in variant], self.request.level)
        made, now = self._made(other), self.now
        above = self._above_limits(made)
        found: list[Choice] = []
        for name, share in made.shares.items():
            if name not in now.shares or name in above:
                continue
            saved = now.shares[name].loaded_bytes - share.loaded_bytes
            if saved > 0:
                grown = share.constant_bytes - now.shares[name].constant_bytes
                found.append(Choice(name, variant, saved, grown))
        return found

    def _is_within(self, made: _Generated) -> bool:
        """Return whether the program is within the limits on expected run time and stack."""
        speed, stack = self._growths(made)
        options = self.request.options
        slower = slowdown(speed, made.calls, self.reference.calls)
        slow = options.speed_limit is not None and slower > options.speed_limit
        deep = options.stack_limit is not None and max(stack.values(), default=1.0) > options.stack_limit
        return not (slow or deep)

    def _above_limits(self, made: _Generated) -> set[str]:
        """Return the functions above a limit."""
        options = self.request.options
        pairs = zip((options.speed_limit, options.stack_limit), self._growths(made), strict=True)
        return {
            name
            for limit, growths in pairs
            if limit is not None
            for name, growth in growths.items()
            if growth > limit
        }

    def _growths(self, made: _Generated) -> tuple[dict[str, float], dict[str, float]]:
        """Return the growth of each function's expected run time, and of its stack."""
        reference = self.reference.calls
        stacks = stack_shares("stack-growth", made.calls, lambda: reference)
        return slowdowns(made.calls, reference), stacks

    def _made(self, module: _native.Module) -> _Generated:
        self.generations += 1
        return _generated(module, self.request.level)

    def _is_late(self, until: float | None) -> bool:
        return until is not None and self.request.clock.now() > until


def _with_debug_info(
    described: _native.Module, plain: bytes, changes: Sequence[Change], request: Request
) -> bytes:
    """Return the module after the changes with its debug information, if it has any; `plain` lacks it.

    Raises:
        CompilerCrash: the code differs.
    """
    if not described.has_debug_info:
        return plain
    _repeat(described, changes, request.level)
    found = described.bitcode()
    check_code(Program(request.name, LANGUAGE, plain), found, plain)
    return found


def _repeat(module: _native.Module, changes: Sequence[Change], level: str) -> None:
    for action, site in changes:
        run_pass(module, ACTIONS.index(action), site, level)


def choose(choices: list[Choice], room: int) -> list[Choice]:
    """Return the best choice for each function, as far as the functions may grow together.

    Choices that grow are taken in order of their growth for each saved byte, the least first.

    Args:
        choices: Choices that save at least one byte each.
        room: The most bytes by which all functions together may grow; functions that shrink add to it.
    """
    best: dict[str, Choice] = {}
    for one in choices:
        now = best.get(one.function)
        if now is None or (one.saved_bytes, -one.grown_bytes) > (now.saved_bytes, -now.grown_bytes):
            best[one.function] = one
    ordered = sorted(best.values(), key=lambda one: (max(0, one.grown_bytes) / one.saved_bytes, one.function))
    taken = []
    for one in ordered:
        if one.grown_bytes <= max(0, room):
            taken.append(one)
            room -= one.grown_bytes
    return taken


def _described(module: _native.Module, level: str) -> _native.Generated:
    # The CPU is that of functions without an attribute for it; on other machines all have one.
    return emit_described(module, level, "x86-64" if is_native(module.triple) else "")


def _generated(module: _native.Module, level: str) -> _Generated:
    made = _described(module, level)
    sizes = object_sizes(made.object, module)
    constants = dict(sizes.functions_constant)
    functions = set(module.functions)
    shares = {
        name: _Share(loaded, constants.get(name, 0))
        for name, loaded in sizes.functions_loaded
        if name in functions
    }
    outlined = any(name not in functions and name.startswith(_OUTLINED) for name in constants)
    constant_bytes = sizes.text_bytes + sizes.read_only_bytes
    return _Generated(shares, sizes.loaded_bytes, constant_bytes, CallCosts.of(made), outlined)
