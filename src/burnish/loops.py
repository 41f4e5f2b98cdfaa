"""Loop nests as functions of NumPy arrays: a nest goes in, a compiled kernel comes out."""

from __future__ import annotations

from burnish.tasks.loop_nests.api import CompiledKernel, compile, einsum

__all__ = ["CompiledKernel", "compile", "einsum"]
