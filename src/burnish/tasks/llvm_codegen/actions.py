"""The actions: decisions on the code generation of a function or of the program."""

from __future__ import annotations

from dataclasses import dataclass, replace

LIST_VERSION = 0

PASSES: dict[str, str] = {
    # Name here -> name with which LLVM calls its OptPassGate; in LLVM's order of first use.
    "canon-freeze": "Canonicalize Freeze Instructions in Loops",
    "loop-reduce": "Loop Strength Reduction",
    "consthoist": "consthoist",
    "partially-inline-libcalls": "partially-inline-libcalls",
    "interleaved-access": "interleaved-access",
    "x86-partial-reduction": "x86-partial-reduction",
    "codegenprepare": "codegenprepare",
    "x86-domain-reassignment": "x86-domain-reassignment",
    "lrshrink": "lrshrink",
    "early-tailduplication": "early-tailduplication",
    "opt-phis": "opt-phis",
    "stack-coloring": "stack-coloring",
    "dead-mi-elimination": "dead-mi-elimination",
    "early-ifcvt": "early-ifcvt",
    "x86-cmov-conversion": "x86-cmov-conversion",
    "early-machinelicm": "early-machinelicm",
    "machine-cse": "machine-cse",
    "machine-sink": "machine-sink",
    "peephole-opt": "peephole-opt",
    "x86-optimize-leas": "x86-optimize-leas",
    "x86-cf-opt": "x86-cf-opt",
    "x86-avoid-sfb": "x86-avoid-sfb",
    "twoaddressinstruction": "twoaddressinstruction",
    "machine-scheduler": "machine-scheduler",
    "stack-slot-coloring": "stack-slot-coloring",
    "machine-cp": "machine-cp",
    "machinelicm": "machinelicm",
    "postra-machine-sink": "postra-machine-sink",
    "shrink-wrap": "shrink-wrap",
    "branch-folder": "branch-folder",
    "machine-latecleanup": "machine-latecleanup",
    "tailduplication": "tailduplication",
    "post-RA-sched": "post-RA-sched",
    "block-placement": "block-placement",
    "x86-execution-domain-fix": "x86-execution-domain-fix",
    "break-false-deps": "break-false-deps",
    "x86-fixup-bw-insts": "x86-fixup-bw-insts",
    "x86-fixup-leas": "x86-fixup-leas",
}

OMITTED: dict[str, str] = {
    # Further passes that LLVM calls its OptPassGate for, with the reason why they are not actions.
    "x86-isel": "without it, instructions are selected as at -O0, which is another level",
    "x86-lvi-load": "closes a leak of the processor (load value injection)",
    "x86-lvi-ret": "closes a leak of the processor (load value injection)",
    "remove-loads-into-fake-uses": "for debuggers (-fextend-variable-liveness)",
    "fixup-statepoint-caller-saved": "for garbage collectors",
    "Local Dynamic TLS Access Clean-up": "for thread-local variables of libraries only",
    "X86 Atom pad short functions": "for the first Atom processors only",
}

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

ACTIONS: tuple[str, ...] = (
    DEFAULT,
    *OUTLINE,
    *(f"skip({name})" for name in PASSES),
    *(f"allocate({seed})" for seed in range(SEEDS)),
    *(f"noise({seed})" for seed in range(SEEDS)),
    *(f"order({number})" for number in range(len(ORDERS))),
)
EVICT = "evict"
"""The last action of a task that has a policy of evictions."""

_SKIPPED: dict[str, str] = {
    # Name here -> the work that is left out.
    "canon-freeze": "moves freeze instructions out of loops",
    "loop-reduce": "replaces multiplications by a loop's counter with additions",
    "consthoist": "computes expensive constants once",
    "partially-inline-libcalls": "computes sqrt by an instruction where possible",
    "interleaved-access": "turns interleaved loads and stores into shuffles",
    "x86-partial-reduction": "prepares vector sums for instructions that multiply and add",
    "codegenprepare": "moves address computations and casts to their uses",
    "x86-domain-reassignment": "moves integer computations to mask registers",
    "lrshrink": "moves instructions down to shorten live ranges",
    "early-tailduplication": "copies small blocks into their predecessors, before registers",
    "opt-phis": "removes circles of phis and copies",
    "stack-coloring": "lets variables that do not live together share stack slots",
    "dead-mi-elimination": "removes unused machine instructions",
    "early-ifcvt": "turns small branches into conditional moves",
    "x86-cmov-conversion": "turns slow conditional moves in loops into branches",
    "early-machinelicm": "moves invariant instructions out of loops, before registers",
    "machine-cse": "reuses equal machine instructions",
    "machine-sink": "moves instructions to the blocks that use them",
    "peephole-opt": "removes redundant copies, extensions and comparisons",
    "x86-optimize-leas": "reuses address computations (lea)",
    "x86-cf-opt": "passes arguments by push instead of mov",
    "x86-avoid-sfb": "splits copies that would block store forwarding",
    "twoaddressinstruction": "swaps operands to save copies",
    "machine-scheduler": "orders instructions before register allocation",
    "stack-slot-coloring": "lets spilled registers share stack slots",
    "machine-cp": "forwards and removes register copies",
    "machinelicm": "moves invariant instructions out of loops, after registers",
    "postra-machine-sink": "moves copies to the blocks that use them, after registers",
    "shrink-wrap": "saves registers only on the paths that need it",
    "branch-folder": "merges equal block ends and simplifies branches",
    "machine-latecleanup": "removes repeated loads of constants and addresses",
    "tailduplication": "copies small blocks into their predecessors, after registers",
    "post-RA-sched": "orders instructions after register allocation",
    "block-placement": "orders the blocks of the function",
    "x86-execution-domain-fix": "picks integer or float forms of vector instructions",
    "break-false-deps": "clears registers that an instruction would wait for",
    "x86-fixup-bw-insts": "widens 8-bit and 16-bit moves to 32 bits",
    "x86-fixup-leas": "replaces slow lea instructions",
}

DESCRIPTIONS: dict[str, str] = {
    DEFAULT: "Remove all decisions here, so that LLVM decides",
    "outline": "Run LLVM's machine outliner on all functions: repeated code becomes a function",
    "outline(seldom)": "Run LLVM's machine outliner on blocks that seldom execute",
    **{f"skip({name})": f"Skip the pass that {text}" for name, text in _SKIPPED.items()},
    "allocate": "Allocate registers in a random order; {0} is the seed",
    "noise": "Allocate registers in LLVM's order with noise; {0} is the seed",
    "order": "Allocate registers in a learned order; {0} is its number",
    EVICT: "Let the policy choose the register allocator's evictions",
}

RANDOM, NOISY, LINEAR = 1, 2, 3  # values of Priority in native/decisions.h
PRIORITIES = {"allocate": RANDOM, "noise": NOISY, "order": LINEAR}


@dataclass(frozen=True)
class FunctionDecisions:
    """The decisions on a function, or on all functions without decisions of their own."""

    skipped: frozenset[str] = frozenset()  # names from PASSES
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
            case "allocate" | "noise" | "order":
                return replace(self, priority=PRIORITIES[name], seed=int(argument))
            case "evict":
                return replace(self, evicts=True)
        raise ValueError(f"{text!r} is not an action on functions")

    def actions(self) -> tuple[str, ...]:
        """Return the actions that lead to these decisions, in the order of ACTIONS, then EVICT."""
        chosen = {f"skip({name})" for name in self.skipped}
        if self.priority:
            name = next(name for name, priority in PRIORITIES.items() if priority == self.priority)
            chosen.add(f"{name}({self.seed})")
        return tuple(text for text in ACTIONS if text in chosen) + (EVICT,) * self.evicts

    def native(self, *, evicts: bool) -> tuple[list[str], int, int, bool]:
        """Return the decisions for the native core: (LLVM's pass names, priority, seed, policy evicts)."""
        return [PASSES[name] for name in sorted(self.skipped)], self.priority, self.seed, evicts


LLVMS_OWN = FunctionDecisions()
