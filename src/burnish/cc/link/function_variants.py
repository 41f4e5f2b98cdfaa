"""A program's module after the level's own passes, and attributes for the code generator at each function.

An attribute changes only the code of its own function. So one code generation of the module, with the
attribute at every function, tries it at all functions at once (native/sizes.h gives the bytes of a function).
A search would need one trial for each function and choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from burnish import _native
from burnish.cc.requests import Attempt, Request
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.llvm.modules.debug_info import check_code
from burnish.llvm.modules.module import emit_described, object_sizes, run_pass
from burnish.llvm.modules.objectives import slowdown, slowdowns
from burnish.llvm.modules.origin import RunTimes
from burnish.llvm.modules.passes import ACTIONS
from burnish.llvm.toolchain import is_native
from burnish.tasks.llvm_passes import LANGUAGE

VARIANTS: tuple[Trace, ...] = (
    ("frame-pointer<calls=0>",),
    ("no-minsize",),
    ("no-jump-tables",),
    ("frame-pointer<calls=0>", "no-jump-tables"),
)
PASSES_FIRST = ("outline<call-cost=2>",)  # after the level's own, if the program stays within the speed limit


@dataclass(frozen=True)
class _Share:
    """A function's part of a module."""

    loaded_bytes: int
    constant_bytes: int  # code and read-only data


@dataclass(frozen=True)
class _Generated:
    """The sizes and expected run times of a module's generated code."""

    shares: Mapping[str, _Share]
    constant_bytes: int
    times: RunTimes


@dataclass(frozen=True)
class Choice:
    """A variant of a function, with the bytes that it saves and adds."""

    function: str
    variant: Trace
    saved_bytes: int  # loaded
    grown_bytes: int  # code and read-only data


def by_level(bitcode: bytes, name: str, level: str, *, with_run_time: bool) -> Attempt:
    """Run clang's pipeline of the level on a program's module, as if it were one file.

    The expected run time is computed here, because a later step would have to repeat these passes for it.
    """
    module = _native.Module(bitcode, name)
    module.set_level_attributes(level)
    module.honour_mandatory()
    pipeline = f"clang<{level}>"
    module.run(pipeline, level)
    found = Attempt(module.bitcode(), (pipeline,), 0)
    if not with_run_time:
        return found
    return replace(found, run_time=RunTimes.of(_described(module, level)).of_call)


def by_functions(bitcode: bytes, request: Request) -> Attempt:
    """Outline, and give each function the attributes that make it smallest.

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
    before = _generated(module, request.level)
    first: Trace = ()
    outlined = module.clone()
    for action in PASSES_FIRST:
        run(outlined, action, WHOLE_PROGRAM, request.level)
    now = _generated(outlined, request.level)
    if slowdown(_slower(now, before), now.times) <= _limit(request):
        module, first = outlined, PASSES_FIRST
    else:
        now = before
    room = int(request.code_growth * before.constant_bytes - now.constant_bytes)
    chosen = choose(_choices(module, request, now, before), room)
    at_functions = [(action, one.function) for one in chosen for action in one.variant]
    for action, function in at_functions:
        run(module, action, function, request.level)
    found = module.bitcode()
    if described.has_debug_info:
        for action, site in (*((action, WHOLE_PROGRAM) for action in first), *at_functions):
            run(described, action, site, request.level)
        plain, found = found, described.bitcode()
        check_code(Program(request.name, LANGUAGE, plain), found, plain)
    trace = (f"clang<{request.level}>", *first, *itertools.starmap(entry, at_functions))
    return Attempt(found, trace, 1 + len(VARIANTS))


def run(module: _native.Module, action: str, site: str, level: str) -> None:
    """Run an action on a module or on one of its functions."""
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


def _choices(
    module: _native.Module, request: Request, now: _Generated, reference: _Generated
) -> list[Choice]:
    """Return the variants of functions that save bytes, within the limit on the expected run time."""
    level, most = request.level, _limit(request)
    found: list[Choice] = []
    for variant in VARIANTS:
        if request.until is not None and request.clock.now() > request.until:
            break
        other = module.clone()
        for action in variant:
            run(other, action, WHOLE_PROGRAM, level)
        made = _generated(other, level)
        slower = _slower(made, reference)
        for name, share in made.shares.items():
            if name not in now.shares or slower.get(name, 1.0) > most:
                continue
            saved = now.shares[name].loaded_bytes - share.loaded_bytes
            if saved > 0:
                grown = share.constant_bytes - now.shares[name].constant_bytes
                found.append(Choice(name, variant, saved, grown))
    return found


def _limit(request: Request) -> float:
    return math.inf if request.options.speed_limit is None else request.options.speed_limit


def _slower(now: _Generated, reference: _Generated) -> dict[str, float]:
    return slowdowns(now.times, reference.times.of_call, reference.times.gotos)


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
    return _Generated(shares, sizes.text_bytes + sizes.read_only_bytes, RunTimes.of(made))
