"""LLVM pass ordering, then code generation: as one task, or the second behind a trace of the first."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from burnish.core.program import Program
from burnish.core.staged import Stage, staged
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.tasks.llvm_codegen import TASK as CODEGEN
from burnish.tasks.llvm_codegen import open_codegen
from burnish.tasks.llvm_codegen.session import CodegenSession
from burnish.tasks.llvm_passes import TASK as PASSES

VERSION = 0

TASK = staged("llvm_passes_and_codegen", PASSES, Stage(CODEGEN, open_codegen), version=VERSION)


def codegen_after(trace: Trace) -> Task:
    """Return the task llvm_codegen, which opens programs in the state after a trace of llvm_passes."""
    return replace(CODEGEN, open=partial(_open_after, trace=trace))


def _open_after(program: Program, trace: Trace) -> CodegenSession:
    session = PASSES.open(program)
    session.replay(trace)
    return open_codegen(session)
