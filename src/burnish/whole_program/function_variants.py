"""What the code generator is told of each function, by one code generation of the module for each choice.

An attribute of a function changes the code of no other, so a code generation of the module with it at every
function is a trial for each of them (the bytes of a function are native/sizes.h's). That is few trials, where
a search would take one for every function and choice.
"""

from __future__ import annotations

from dataclasses import dataclass

from burnish import _native
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.driver.requests import Optimized, OptimizeRequest
from burnish.tasks.llvm_passes.actions import ACTIONS
from burnish.tasks.llvm_passes.modules import run_pass

VARIANTS: tuple[Trace, ...] = (
    ("frame-pointer<calls=0>",),
    ("no-minsize",),
    ("no-jump-tables",),
    ("frame-pointer<calls=0>", "no-jump-tables"),
)
PASSES_FIRST = ("outline<call-cost=2>",)  # behind the level's own


@dataclass(frozen=True)
class _Share:
    """A function's part of a module."""

    loaded_bytes: int
    constant_bytes: int  # code and read-only data


@dataclass(frozen=True)
class Choice:
    """A variant of a function, and what it saves and costs."""

    function: str
    variant: Trace
    saved_bytes: int  # loaded
    grown_bytes: int  # code and read-only data


def by_functions(bitcode: bytes, request: OptimizeRequest) -> Optimized:
    """Outline, and give each function the attributes that make it smallest.

    Args:
        bitcode: Of a module, after the level's own passes.
        request: Of it, `code_growth` says how much more code there may be than after the level's passes.
    """
    module = _native.Module(bitcode, request.name)
    most = request.code_growth * _constant_bytes(_sizes(module, request.level))
    for action in PASSES_FIRST:
        run(module, action, WHOLE_PROGRAM, request.level)
    sizes = _sizes(module, request.level)
    room = int(most - _constant_bytes(sizes))
    chosen = choose(_choices(module, sizes, request), room)
    at_functions = [entry(action, one.function) for one in chosen for action in one.variant]
    for one in chosen:
        for action in one.variant:
            run(module, action, one.function, request.level)
    trace = (f"clang<{request.level}>", *PASSES_FIRST, *at_functions)
    return Optimized(module.bitcode(), trace, 1 + len(VARIANTS))


def run(module: _native.Module, action: str, site: str, level: str) -> None:
    """Run an action on a module or on one of its functions."""
    run_pass(module, ACTIONS.index(action), site, level)


def choose(choices: list[Choice], room: int) -> list[Choice]:
    """Return the best choice for each function; those that grow are taken by what they save for each byte.

    Args:
        choices: Each saves something.
        room: By how many bytes all of them may grow; what shrinks makes more.
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


def _choices(module: _native.Module, sizes: _native.Sizes, request: OptimizeRequest) -> list[Choice]:
    """Return what saves bytes at single functions; `sizes` are those of the module as it is."""
    level = request.level
    before = _shares(module, sizes)
    found: list[Choice] = []
    for variant in VARIANTS:
        if request.until is not None and request.clock.now() > request.until:
            break
        other = module.clone()
        for action in variant:
            run(other, action, WHOLE_PROGRAM, level)
        for name, share in _shares(other, _sizes(other, level)).items():
            saved = before[name].loaded_bytes - share.loaded_bytes if name in before else 0
            if saved > 0:
                found.append(Choice(name, variant, saved, share.constant_bytes - before[name].constant_bytes))
    return found


def _shares(module: _native.Module, sizes: _native.Sizes) -> dict[str, _Share]:
    constants = dict(sizes.functions_constant)
    functions = set(module.functions)
    return {
        name: _Share(loaded, constants.get(name, 0))
        for name, loaded in sizes.functions_loaded
        if name in functions
    }


def _constant_bytes(sizes: _native.Sizes) -> int:
    return sizes.text_bytes + sizes.read_only_bytes


def _sizes(module: _native.Module, level: str) -> _native.Sizes:
    return _native.object_sizes(module.emit_object(level), module.position_independent)
