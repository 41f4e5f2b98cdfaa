"""The actions: decisions on the code generation of a function or of the program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from burnish.llvm.targets import REGISTERS
from burnish.tasks.llvm_codegen.llvm_options import LLVM_OPTIONS
from burnish.tasks.llvm_codegen.passes import PASSES

LIST_VERSION = 3

SEEDS = 16
ORDERS: tuple[tuple[float, ...], ...] = (
    # Weights of _native.order_feature_names(), learned from the bytes of 25 kernels at -Oz. Made by
    # python benchmarks/priorities.py --level Oz --out benchmarks/results/priorities-Oz
    (-0.370, -0.289, 0.304, 0.829),
    (0.256, 0.005, 0.483, 0.837),
    (-0.788, -0.588, -0.060, 0.171),
    (0.709, 0.238, 0.044, 0.662),
)
DEFAULT = "default"
# Actions on the program, in the order of Outline in native/outlined.h; the last one applied holds.
OUTLINE = ("outline(seldom)", "outline")
FLAT = "flat(greedy)"

ACTIONS: tuple[str, ...] = (
    DEFAULT,
    *OUTLINE,
    *(f"skip({name})" for name in PASSES),
    *(f"allocate({seed})" for seed in range(SEEDS)),
    *(f"noise({seed})" for seed in range(SEEDS)),
    *(f"order({number})" for number in range(len(ORDERS))),
    FLAT,
    *(f"set({name})" for name in LLVM_OPTIONS),
)
EVICT = "evict"
"""The last action of a task that has a policy of evictions."""

DESCRIPTIONS: dict[str, str] = {
    DEFAULT: "Remove all decisions here, so that LLVM decides",
    "outline": "Run LLVM's machine outliner on all functions, and leave out unwind tables that nobody needs",
    "outline(seldom)": "The same on blocks that seldom execute",
    **{f"skip({name})": f"Skip the pass that {one.does}" for name, one in PASSES.items()},
    "allocate": "Allocate registers in a random order; {0} is the seed",
    "noise": "Allocate registers in LLVM's order with noise; {0} is the seed",
    "order": "Allocate registers in a learned order; {0} is its number",
    FLAT: "Allocate registers as if every block executed once",
    **{f"set({name})": f"Set LLVM's option, which {one.does}" for name, one in LLVM_OPTIONS.items()},
    EVICT: "Let the policy choose the register allocator's evictions",
}

RANDOM, NOISY, LINEAR = 1, 2, 3  # values of Priority in native/decisions.h
PRIORITIES = {"allocate": RANDOM, "noise": NOISY, "order": LINEAR}


@cache
def applies(text: str, machine: str) -> bool:
    """Return whether an action means something on a machine; see burnish.tasks.llvm_codegen.passes.

    Elsewhere than on x86 the machine outliner runs at -Oz anyway, and skip(machine-outliner) is a decision.
    """
    name, _, argument = text.rstrip(")").partition("(")
    match name:
        case "skip":
            return machine in PASSES[argument].machines
        case "set":
            return machine in LLVM_OPTIONS[argument].machines
        case "default":
            return True
    return machine in REGISTERS


@dataclass(frozen=True)
class FunctionDecisions:
    """The decisions on a function, or on all functions without decisions of their own."""

    skipped: frozenset[str] = frozenset()  # names from PASSES
    options: frozenset[str] = frozenset()  # names from LLVM_OPTIONS
    flat: bool = False  # whether registers are allocated as if every block executed once
    priority: int = 0  # of register allocation: 0 (LLVM's), or one of PRIORITIES
    seed: int = 0  # of RANDOM and NOISY; index in ORDERS
    evicts: bool = False  # whether the task's policy chooses the evictions

    def with_action(self, text: str) -> FunctionDecisions:
        """Return the decisions after an action, which must not be in OUTLINE."""
        name, _, argument = text.rstrip(")").partition("(")
        match name:
            case "default":
                return FunctionDecisions()
            case "skip":
                return replace(self, skipped=self.skipped | {argument})
            case "set":
                name = argument.partition("=")[0]
                others = {one for one in self.options if one.partition("=")[0] != name}
                return replace(self, options=frozenset({*others, argument}))
            case "flat":
                return replace(self, flat=True)
            case "allocate" | "noise" | "order":
                return replace(self, priority=PRIORITIES[name], seed=int(argument))
            case "evict":
                return replace(self, evicts=True)
        raise ValueError(f"{text!r} is not an action on functions")

    def actions(self) -> tuple[str, ...]:
        """Return the actions that lead to these decisions, in the order of ACTIONS, then EVICT."""
        chosen = {f"skip({name})" for name in self.skipped} | {f"set({name})" for name in self.options}
        if self.flat:
            chosen.add(FLAT)
        if self.priority:
            name = next(name for name, priority in PRIORITIES.items() if priority == self.priority)
            chosen.add(f"{name}({self.seed})")
        return tuple(text for text in ACTIONS if text in chosen) + (EVICT,) * self.evicts

    def native(self, *, evicts: bool) -> tuple[list[str], list[str], bool, int, int, bool]:
        """Return the decisions for the native core, as FunctionDecisions of native/decisions.h."""
        skipped = [PASSES[name].llvm for name in sorted(self.skipped)]
        return skipped, sorted(self.options), self.flat, self.priority, self.seed, evicts


LLVMS_OWN = FunctionDecisions()
