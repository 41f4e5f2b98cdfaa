"""LLVM's hidden options of code generation that functions can have, and the machines for which they count.

LLVM's defaults are for speed, also at -Oz: most of these let a pass count bytes instead. An option is here if
LLVM reads it anew for each function, if it does not let LLVM generate wrong code, and if it made functions
smaller. Left out is what misleads the estimate of the run time, as use-mbpi=false does: no block is then in a
loop more often than another. And what depends on the C++ library's sorting of equal items: misched=ilpmax.
"""

from __future__ import annotations

from dataclasses import dataclass

from burnish.llvm.targets import REGISTERS
from burnish.tasks.llvm_codegen.passes import AARCH64, ALL, ARM, RISCV, X86


@dataclass(frozen=True)
class LlvmOption:
    """An option of LLVM's with a value, and what LLVM does with it."""

    machines: frozenset[str]
    does: str


LLVM_OPTIONS: dict[str, LlvmOption] = {
    # By "name" or "name=value", as behind clang's -mllvm.
    "apply-ext-tsp-for-size": LlvmOption(
        REGISTERS, "orders blocks for the fewest jumps, whatever their frequencies (ext-TSP)"
    ),
    "lsr-drop-solution": LlvmOption(ALL, "keeps a loop's addresses if other ones are not cheaper"),
    "lsr-exp-narrow": LlvmOption(ALL, "chooses a loop's addresses by expected numbers of registers"),
    "tail-merge-size=2": LlvmOption(ALL, "merges equal ends of blocks from two instructions, not three"),
    "phi-elim-split-all-critical-edges": LlvmOption(
        ALL, "gives copies for phis a block of their own on each critical edge"
    ),
    "join-splitedges": LlvmOption(ALL, "removes the copies in such blocks first"),
    "aggressive-machine-cse": LlvmOption(ALL, "computes everything once, however long registers are used"),
    "machine-sink-split=0": LlvmOption(ALL, "adds no block to move instructions into"),
    # On x86 only in functions with minsize: in others LLVM calls itself without end (native/decisions.cpp).
    "max-store-memcpy=1": LlvmOption(ALL, "copies more than a word by calling memcpy"),
    "pre-RA-sched=source": LlvmOption(ALL, "selects instructions in the order of the source"),
    "pre-RA-sched=list-ilp": LlvmOption(ALL, "selects instructions in the order for the most at a time"),
    "pre-RA-sched=list-burr": LlvmOption(ALL, "selects instructions in the order for the fewest registers"),
    "csuses-threshold=0": LlvmOption(X86 | AARCH64, "computes again what few instructions use"),
    "sink-insts-to-avoid-spills": LlvmOption(REGISTERS, "moves instructions back into loops, to their uses"),
    "huge-size-for-split=0": LlvmOption(REGISTERS, "computes values again rather than splits live ranges"),
    "split-spill-mode=default": LlvmOption(REGISTERS, "splits live ranges without more copies of spills"),
    "greedy-reverse-local-assignment": LlvmOption(REGISTERS, "allocates a block's registers from its end"),
    "regalloc-eviction-max-interference-cutoff=2": LlvmOption(REGISTERS, "evicts few live ranges at once"),
    "force-precise-rotation-cost": LlvmOption(REGISTERS, "rotates loops by the exact cost of jumps"),
    "enable-misched": LlvmOption(ARM, "orders instructions before register allocation on every core"),
    "arm-prera-ldst-opt-reorder-limit=2": LlvmOption(ARM, "moves loads and stores together only if near"),
    "lsr-preferred-addressing-mode=all": LlvmOption(
        ARM | AARCH64, "prefers addresses that step with each use"
    ),
    "riscv-disable-cost-per-use": LlvmOption(RISCV, "allocates registers as if all had short encodings"),
    "x86-br-merging-base-cost=0": LlvmOption(X86, "branches on each of several conditions"),
    "aarch64-br-merging-base-cost=0": LlvmOption(AARCH64, "branches on each of several conditions"),
    "riscv-br-merging-base-cost=0": LlvmOption(RISCV, "branches on each of several conditions"),
}
