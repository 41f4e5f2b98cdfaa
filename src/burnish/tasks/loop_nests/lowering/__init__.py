"""Lowering of loop trees to LLVM IR."""

from __future__ import annotations

from burnish.tasks.loop_nests.lowering.lower import KERNEL, Lowered, lower

__all__ = ["KERNEL", "Lowered", "lower"]
