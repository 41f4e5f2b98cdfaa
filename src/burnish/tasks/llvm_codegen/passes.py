"""The passes of code generation that a function can skip, and the machines that have them."""

from __future__ import annotations

from dataclasses import dataclass

from burnish.llvm.targets import MACHINES, REGISTERS

ALL = frozenset(MACHINES)
X86, ARM, AARCH64, RISCV, WEBASSEMBLY = (frozenset({name}) for name in MACHINES)


@dataclass(frozen=True)
class CodegenPass:
    """A pass of code generation that functions can skip."""

    llvm: str  # the name with which LLVM calls its OptPassGate
    machines: frozenset[str]  # whose code generation has it
    does: str


PASSES: dict[str, CodegenPass] = {
    # By their names here. First x86's, in LLVM's order of first use, then what only other machines have.
    "canon-freeze": CodegenPass(
        "Canonicalize Freeze Instructions in Loops", ALL, "moves freeze instructions out of loops"
    ),
    "loop-reduce": CodegenPass(
        "Loop Strength Reduction", ALL, "replaces multiplications by a loop's counter with additions"
    ),
    "consthoist": CodegenPass("consthoist", ALL, "computes expensive constants once"),
    "partially-inline-libcalls": CodegenPass(
        "partially-inline-libcalls", ALL, "computes sqrt by an instruction where possible"
    ),
    "interleaved-access": CodegenPass(
        "interleaved-access", REGISTERS, "turns interleaved loads and stores into shuffles"
    ),
    "x86-partial-reduction": CodegenPass(
        "x86-partial-reduction", X86, "prepares vector sums for instructions that multiply and add"
    ),
    "codegenprepare": CodegenPass(
        "codegenprepare", ALL, "moves address computations and casts to their uses"
    ),
    "x86-domain-reassignment": CodegenPass(
        "x86-domain-reassignment", X86, "moves integer computations to mask registers"
    ),
    "lrshrink": CodegenPass("lrshrink", X86, "moves instructions down to shorten live ranges"),
    "early-tailduplication": CodegenPass(
        "early-tailduplication", ALL, "copies small blocks into their predecessors, before registers"
    ),
    "opt-phis": CodegenPass("opt-phis", ALL, "removes circles of phis and copies"),
    "stack-coloring": CodegenPass(
        "stack-coloring", ALL, "lets variables that do not live together share stack slots"
    ),
    "dead-mi-elimination": CodegenPass("dead-mi-elimination", ALL, "removes unused machine instructions"),
    "early-ifcvt": CodegenPass("early-ifcvt", X86 | AARCH64, "turns small branches into conditional moves"),
    "x86-cmov-conversion": CodegenPass(
        "x86-cmov-conversion", X86, "turns slow conditional moves in loops into branches"
    ),
    "early-machinelicm": CodegenPass(
        "early-machinelicm", ALL, "moves invariant instructions out of loops, before registers"
    ),
    "machine-cse": CodegenPass("machine-cse", ALL, "reuses equal machine instructions"),
    "machine-sink": CodegenPass("machine-sink", ALL, "moves instructions to the blocks that use them"),
    "peephole-opt": CodegenPass("peephole-opt", ALL, "removes redundant copies, extensions and comparisons"),
    "x86-optimize-leas": CodegenPass("x86-optimize-leas", X86, "reuses address computations (lea)"),
    "x86-cf-opt": CodegenPass("x86-cf-opt", X86, "passes arguments by push instead of mov"),
    "x86-avoid-sfb": CodegenPass("x86-avoid-sfb", X86, "splits copies that would block store forwarding"),
    "twoaddressinstruction": CodegenPass("twoaddressinstruction", ALL, "swaps operands to save copies"),
    "machine-scheduler": CodegenPass(
        "machine-scheduler", ALL, "orders instructions before register allocation"
    ),
    "stack-slot-coloring": CodegenPass(
        "stack-slot-coloring", REGISTERS, "lets spilled registers share stack slots"
    ),
    "machine-cp": CodegenPass("machine-cp", REGISTERS, "forwards and removes register copies"),
    "machinelicm": CodegenPass(
        "machinelicm", REGISTERS, "moves invariant instructions out of loops, after registers"
    ),
    "postra-machine-sink": CodegenPass(
        "postra-machine-sink", REGISTERS, "moves copies to the blocks that use them, after registers"
    ),
    "shrink-wrap": CodegenPass("shrink-wrap", REGISTERS, "saves registers only on the paths that need it"),
    "branch-folder": CodegenPass("branch-folder", ALL, "merges equal block ends and simplifies branches"),
    "machine-latecleanup": CodegenPass(
        "machine-latecleanup", REGISTERS, "removes repeated loads of constants and addresses"
    ),
    "tailduplication": CodegenPass(
        "tailduplication", ALL, "copies small blocks into their predecessors, after registers"
    ),
    "post-RA-sched": CodegenPass("post-RA-sched", X86 | ARM, "orders instructions after register allocation"),
    "block-placement": CodegenPass("block-placement", REGISTERS, "orders the blocks of the function"),
    "x86-execution-domain-fix": CodegenPass(
        "x86-execution-domain-fix", X86, "picks integer or float forms of vector instructions"
    ),
    "break-false-deps": CodegenPass(
        "break-false-deps", X86 | ARM, "clears registers that an instruction would wait for"
    ),
    "x86-fixup-bw-insts": CodegenPass("x86-fixup-bw-insts", X86, "widens 8-bit and 16-bit moves to 32 bits"),
    "x86-fixup-leas": CodegenPass("x86-fixup-leas", X86, "replaces slow lea instructions"),
    "type-promotion": CodegenPass(
        "type-promotion", ARM | AARCH64 | RISCV, "computes small integers in whole registers"
    ),
    "simplifycfg": CodegenPass(
        "simplifycfg", ARM | AARCH64, "simplifies branches of the IR after atomics are expanded"
    ),
    "postmisched": CodegenPass(
        "postmisched",
        ARM | AARCH64 | RISCV,
        "orders instructions after register allocation, by the machine model",
    ),
    "machine-outliner": CodegenPass(
        "machine-outliner", ARM | AARCH64 | RISCV, "moves repeated code into functions"
    ),
    "if-converter": CodegenPass("if-converter", ARM, "turns branches into predicated instructions"),
    "arm-mla-mls": CodegenPass(
        "ARM MLA / MLS expansion pass", ARM, "splits multiplications with addition where these are slow"
    ),
    "arm-prera-ldst-opt": CodegenPass(
        "arm-prera-ldst-opt", ARM, "moves loads and stores together, before registers"
    ),
    "arm-ldst-opt": CodegenPass("arm-ldst-opt", ARM, "joins loads and stores of several registers"),
    "arm-block-placement": CodegenPass(
        "arm-block-placement", ARM, "moves blocks so that low-overhead loops are possible"
    ),
    "aarch64-promote-const": CodegenPass(
        "aarch64-promote-const", AARCH64, "puts constant vectors into memory once"
    ),
    "aarch64-ccmp": CodegenPass("aarch64-ccmp", AARCH64, "joins comparisons by conditional comparisons"),
    "aarch64-condopt": CodegenPass(
        "aarch64-condopt", AARCH64, "changes comparisons so that they can be shared"
    ),
    "aarch64-stp-suppress": CodegenPass(
        "aarch64-stp-suppress", AARCH64, "avoids pairs of stores where these are slow"
    ),
    "aarch64-simd-instr-opt": CodegenPass(
        "aarch64-simd-instr-opt", AARCH64, "replaces slow vector instructions"
    ),
    "aarch64-mi-peephole-opt": CodegenPass(
        "aarch64-mi-peephole-opt", AARCH64, "splits constants for two instructions, and removes copies"
    ),
    "aarch64-dead-defs": CodegenPass(
        "aarch64-dead-defs", AARCH64, "writes unused results to the zero register"
    ),
    "aarch64-redundantcondbranch": CodegenPass(
        "aarch64-redundantcondbranch", AARCH64, "removes conditional branches whose outcome is known"
    ),
    "aarch64-copyelim": CodegenPass(
        "aarch64-copyelim", AARCH64, "removes copies of values that a branch tested"
    ),
    "aarch64-ldst-opt": CodegenPass(
        "aarch64-ldst-opt", AARCH64, "joins loads and stores to pairs, and with updates of addresses"
    ),
    "aarch64-cond-br-tuning": CodegenPass(
        "aarch64-cond-br-tuning", AARCH64, "turns test branches into flags and conditional branches"
    ),
    "loop-term-fold": CodegenPass("Loop Terminator Folding", RISCV, "tests a loop by another counter"),
    "riscv-codegenprepare": CodegenPass("riscv-codegenprepare", RISCV, "widens unsigned numbers in the IR"),
    "riscv-promote-const": CodegenPass(
        "riscv-promote-const", RISCV, "joins floating-point constants to one table"
    ),
    "riscv-merge-base-offset": CodegenPass(
        "riscv-merge-base-offset", RISCV, "puts offsets into the addresses of globals"
    ),
    "riscv-fold-mem-offset": CodegenPass(
        "riscv-fold-mem-offset", RISCV, "moves additions into the offsets of loads and stores"
    ),
    "riscv-opt-w-instrs": CodegenPass("riscv-opt-w-instrs", RISCV, "removes extensions of 32-bit numbers"),
    "riscv-dead-defs": CodegenPass("riscv-dead-defs", RISCV, "writes unused results to the zero register"),
    "riscv-copyelim": CodegenPass("riscv-copyelim", RISCV, "removes copies of values that a branch tested"),
    "riscv-load-store-opt": CodegenPass("riscv-load-store-opt", RISCV, "joins loads and stores to pairs"),
    "riscv-make-compressible": CodegenPass(
        "riscv-make-compressible", RISCV, "picks registers and addresses for which instructions are short"
    ),
    "riscv-move-merge": CodegenPass("riscv-move-merge", RISCV, "joins moves to one short instruction"),
    "riscv-push-pop-opt": CodegenPass(
        "riscv-push-pop-opt", RISCV, "returns by the instruction that restores registers"
    ),
    "riscv-late-branch-opt": CodegenPass("riscv-late-branch-opt", RISCV, "folds branches on constants"),
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
    **dict.fromkeys(
        ("arm-isel", "aarch64-isel", "riscv-isel", "wasm-isel"),
        "without it, instructions are selected as at -O0, which is another level",
    ),
    **dict.fromkeys(("aarch64-local-dynamic-tls-cleanup",), "for thread-local variables of libraries only"),
    **dict.fromkeys(
        (
            "SVE Shuffle Optimizations",
            "Transform predicated vector loops to use MVE tail predication",
            "aarch64-sme-peephole-opt",
            "riscv-gather-scatter-lowering",
            "riscv-vector-peephole",
            "riscv-vl-optimizer",
        ),
        "for vectors of variable length, which are not made at -Oz",
    ),
    **dict.fromkeys(
        (
            "ARM A15 S->D optimizer",
            "RISC-V Zacas ABI fix",
            "aarch64-a57-fp-load-balancing",
            "aarch64-stack-tagging-pre-ra",
            "riscv-prera-zilsd-opt",
            "riscv-qc-relax-marking",
        ),
        "for few processors only",
    ),
    "arm-execution-domain-fix": "for NEON only",
    "hardware-loops": "for loops of processors with counters of their own only",
    "loop-data-prefetch": "adds instructions that fetch data early, which are not made at -Oz",
    "optimise barriers pass": "for programs of several processors only",
    "aarch64-post-coalescer": "for streaming vectors only",
}
