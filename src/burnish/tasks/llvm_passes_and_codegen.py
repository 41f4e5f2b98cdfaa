"""LLVM pass ordering, then code generation, as one task."""

from __future__ import annotations

from dataclasses import replace

from burnish.core.staged import Stage, staged
from burnish.tasks.llvm_codegen import TASK as CODEGEN
from burnish.tasks.llvm_codegen import open_codegen
from burnish.tasks.llvm_passes import TASK as PASSES

VERSION = 3

TASK = replace(
    staged("llvm_passes_and_codegen", PASSES, Stage(CODEGEN, open_codegen), version=VERSION),
    shown=replace(CODEGEN.shown, title="LLVMPassesAndCodegen", former_title="LlvmPassesAndCodegen"),
)
