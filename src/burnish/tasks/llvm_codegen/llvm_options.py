"""LLVM's hidden options of code generation that functions can have, and the machines for which they count.

LLVM's defaults are for speed, also at -Oz: most of these let a pass count bytes instead. An option is here if
LLVM reads it anew for each function, if it does not let LLVM generate wrong code, and if it made functions
smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

from burnish.tasks.llvm_codegen.passes import AARCH64, ALL, REGISTERS, RISCV, X86


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
    "disable-hoisting-to-hotter-blocks=all": LlvmOption(
        ALL, "moves no instruction from a loop to a block that executes more often"
    ),
    "x86-br-merging-base-cost=0": LlvmOption(X86, "branches on each of several conditions"),
    "aarch64-br-merging-base-cost=0": LlvmOption(AARCH64, "branches on each of several conditions"),
    "riscv-br-merging-base-cost=0": LlvmOption(RISCV, "branches on each of several conditions"),
}
