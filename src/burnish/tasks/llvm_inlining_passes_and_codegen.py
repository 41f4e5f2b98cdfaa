"""Answers to LLVM's inliner, then pass ordering, then code generation, as one task."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.staged import Stage, staged
from burnish.tasks.llvm_codegen import TASK as CODEGEN
from burnish.tasks.llvm_codegen import open_codegen
from burnish.tasks.llvm_inlining import TASK as INLINING
from burnish.tasks.llvm_inlining.inlined import open_passes
from burnish.tasks.llvm_passes import TASK as PASSES

VERSION = 3

TASK = replace(
    staged(
        "llvm_inlining_passes_and_codegen",
        INLINING,
        Stage(PASSES, open_passes, default=(f"clang<{PASSES.reference}>",), share=0.6),
        Stage(CODEGEN, open_codegen, share=0.25),
        version=VERSION,
    ),
    shown=replace(
        CODEGEN.shown, title="LLVMInliningPassesAndCodegen", former_title="LlvmInliningPassesAndCodegen"
    ),
)
