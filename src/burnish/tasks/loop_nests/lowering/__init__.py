"""Lowering of loop trees to LLVM IR."""
