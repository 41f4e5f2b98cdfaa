"""Where a session over an LLVM module begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from burnish import _native
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.trace import Trace

KNOWN_SIZES = 256  # states of a program whose sizes are kept: many actions change nothing


@dataclass(frozen=True)
class Options:
    """How a module is opened, and for what its code is generated."""

    level: str = "Oz"
    """Whose function attributes, pipeline tuning and code generation apply: O0 ... O3, Os, Oz."""
    always_inline: bool = True
    """Honour `always_inline` first, as clang does at every level. Without it, a file that relies on
    it seems to shrink when nothing was optimized: such figures do not compare with clang's."""
    cpu: str = "x86-64"  # for functions that do not name their own
    without: str = ""
    """Actions that are left out, as `burnish.tasks.llvm_passes.actions.left_out` writes them."""


@dataclass(frozen=True)
class RunTimes:
    """How long calls of a module's functions are expected to take, by their machine code."""

    of_call: Mapping[str, float]  # instructions, with all that it calls; see native/machine_time.h
    repeating: frozenset[str]  # functions with a loop or a recursion, or that call one that has
    gotos: Mapping[str, int]  # places of computed gotos, of functions that have any

    @classmethod
    def of(cls, made: _native.Generated) -> RunTimes:
        """Return what generated code says."""
        return cls(
            {name: time for name, time, _ in made.run_times},
            frozenset(name for name, _, repeats in made.run_times if repeats),
            dict(made.computed_gotos),
        )


@dataclass
class Origin:
    """Where a session begins: the program, and what is done to its module before the first action."""

    program: Program
    prepare: Callable[[_native.Module], None]
    reference: Trace | None
    """What leads from there to what the program is compared with; None where a session is its own measure."""
    slowdown: float = 1.0  # by how much the reference is expected to be slower than what it is compared with
    run_time: dict[str, float] | None = None  # of the reference, once somebody has asked;
    constant_bytes: int | None = None  # likewise
    reference_gotos: Mapping[str, int] | None = None  # likewise
    sizes: Recent[str, _native.Sizes] = field(default_factory=lambda: Recent(KNOWN_SIZES))  # by digest
    run_times: Recent[str, RunTimes] = field(default_factory=lambda: Recent(KNOWN_SIZES))  # likewise


def prepare(module: _native.Module, options: Options) -> None:
    """Do to a module what clang does at the options' level before any optimization."""
    module.set_level_attributes(options.level)
    if options.always_inline:
        module.honour_mandatory()


def leave_as_it_is(module: _native.Module) -> None:
    """Do nothing to a module."""


def run_level(module: _native.Module, level: str) -> None:
    """Run clang's own pipeline."""
    module.set_level_attributes(level)
    module.run(f"clang<{level}>", level)
