"""Loop nests as functions of NumPy arrays: compile a nest to a kernel, and call it."""

from __future__ import annotations

from burnish.tasks.loop_nests.api.compilation import compile
from burnish.tasks.loop_nests.api.einsum_notation import einsum
from burnish.tasks.loop_nests.api.kernel import CompiledKernel

__all__ = ["CompiledKernel", "compile", "einsum"]
