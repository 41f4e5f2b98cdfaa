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


@dataclass(frozen=True)
class ReferenceSizes:
    """Bytes of the object that a program is compared with."""

    loaded: int
    constant: int  # machine code and read-only data, without unwind tables
    shared: Mapping[str, int]  # loaded bytes of each function of which a linker keeps one object's

    @classmethod
    def of(cls, sizes: _native.Sizes, module: _native.Module) -> ReferenceSizes:
        """Return the sizes of a reference from those of its object.

        Args:
            sizes: Of the object.
            module: Its module, before or after the passes.
        """
        shared = frozenset(module.linkonce_functions)
        loaded = {name: size for name, size in sizes.functions_loaded if name in shared}
        return cls(sizes.loaded_bytes, sizes.text_bytes + sizes.read_only_bytes, loaded)

    def code_growth(self, sizes: _native.Sizes) -> float:
        """Return the code and constants of another object, in units of this one's."""
        return (sizes.text_bytes + sizes.read_only_bytes) / max(1, self.constant)

    def loaded_shares(self, sizes: _native.Sizes) -> dict[str, float]:
        """Return the loaded bytes of each function of another object, in units of all of this one's."""
        return {name: size / max(1, self.loaded) for name, size in sizes.functions_loaded}

    def linked_growth(self, sizes: _native.Sizes) -> float:
        """Return the bytes that another object adds to a program, in units of this one's: linked-growth."""
        defined = {name for name, _ in sizes.functions_loaded}
        elsewhere = sum(size for name, size in self.shared.items() if name not in defined)
        return (sizes.loaded_bytes + elsewhere) / max(1, self.loaded)


@dataclass
class Origin:
    """Where a session begins: the program, and what is done to its module before the first action."""

    program: Program
    prepare: Callable[[_native.Module], None]
    reference: Trace | None
    """What leads from there to what the program is compared with; None where a session is its own measure."""
    slowdown: float = 1.0  # by how much the reference is expected to be slower than what it is compared with
    run_time: dict[str, float] | None = None  # of the reference, once somebody has asked;
    reference_sizes: ReferenceSizes | None = None  # likewise
    reference_gotos: Mapping[str, int] | None = None  # likewise
    sizes: Recent[str, _native.Sizes] = field(default_factory=lambda: Recent(KNOWN_SIZES))  # by digest
    run_times: Recent[str, RunTimes] = field(default_factory=lambda: Recent(KNOWN_SIZES))  # likewise


def prepare(module: _native.Module, options: Options) -> None:
    """Do to a module what clang does at the options' level before any optimization."""
    module.set_level_attributes(options.level)
    if options.always_inline:
        module.honour_mandatory()


def run_level(module: _native.Module, level: str) -> None:
    """Run clang's own pipeline."""
    module.set_level_attributes(level)
    module.run(f"clang<{level}>", level)
