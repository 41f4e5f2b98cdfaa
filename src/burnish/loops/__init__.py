"""Loop nests as functions of NumPy arrays: a nest goes in, a compiled kernel comes out."""

from __future__ import annotations

from burnish.loops.compilation import compile
from burnish.loops.einsum_notation import einsum
from burnish.loops.kernel import CompiledKernel

__all__ = ["CompiledKernel", "compile", "einsum"]
