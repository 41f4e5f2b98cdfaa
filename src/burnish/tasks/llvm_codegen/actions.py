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
DEFAULT = "default"
# Actions on the program, in the order of Outline in native/outlined.h; the last one applied holds.
OUTLINE = ("outline(seldom)", "outline")

ACTIONS: tuple[str, ...] = (
    DEFAULT,
    *OUTLINE,
    *(f"skip({name})" for name in PASSES),
    *(f"allocate({seed})" for seed in range(SEEDS)),
    *(f"noise({seed})" for seed in range(SEEDS)),
)

RANDOM, NOISY = 1, 2  # values of Priority in native/decisions.h


@dataclass(frozen=True)
class FunctionDecisions:
    """The decisions on a function, or on all functions without decisions of their own."""

    skipped: frozenset[str] = frozenset()  # names from PASSES
    priority: int = 0  # of register allocation: 0 (LLVM's), RANDOM or NOISY
    seed: int = 0  # for RANDOM and NOISY

    def with_action(self, text: str) -> FunctionDecisions:
        """Return the decisions after an action, which must not be in OUTLINE."""
        name, _, argument = text.rstrip(")").partition("(")
        match name:
            case "default":
                return FunctionDecisions()
            case "skip":
                return replace(self, skipped=self.skipped | {argument})
            case "allocate":
                return replace(self, priority=RANDOM, seed=int(argument))
            case "noise":
                return replace(self, priority=NOISY, seed=int(argument))
        raise ValueError(f"{text!r} is not an action on functions")

    def actions(self) -> tuple[str, ...]:
        """Return the actions that lead to these decisions, in the order of ACTIONS."""
        chosen = {f"skip({name})" for name in self.skipped}
        if self.priority:
            chosen.add(f"{'allocate' if self.priority == RANDOM else 'noise'}({self.seed})")
        return tuple(text for text in ACTIONS if text in chosen)

    def native(self) -> tuple[list[str], int, int]:
        """Return the decisions as the native core takes them: (LLVM's pass names, priority, seed)."""
        return [PASSES[name] for name in sorted(self.skipped)], self.priority, self.seed


LLVMS_OWN = FunctionDecisions()
