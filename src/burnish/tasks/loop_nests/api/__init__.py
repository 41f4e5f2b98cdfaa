"""Loop nests as functions of NumPy arrays: a nest goes in, a compiled kernel comes out."""

from __future__ import annotations

from burnish.tasks.loop_nests.api.compilation import compile
from burnish.tasks.loop_nests.api.einsum_notation import einsum
from burnish.tasks.loop_nests.api.kernel import CompiledKernel

__all__ = ["CompiledKernel", "compile", "einsum"]
