"""Loop nests as functions of NumPy arrays: compile a nest into a kernel."""

from __future__ import annotations

from burnish.tasks.loop_nests.api import CompiledKernel, compile, einsum

__all__ = ["CompiledKernel", "compile", "einsum"]
