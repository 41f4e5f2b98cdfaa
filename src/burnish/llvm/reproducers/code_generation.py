"""clang's code generation alone: module to object."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from burnish.core.errors import CompileError, CompilerTimeout
from burnish.llvm.toolchain import find_tool

NO_PASSES = ("-Xclang", "-disable-llvm-passes")


def generate_code(bitcode: bytes, level: str, seconds: float, options: Sequence[str] = NO_PASSES) -> bytes:
    """Return the object that clang makes of a module.

    Args:
        bitcode: The module, or its text.
        level: clang's, for code generation.
        seconds: The deadline.
        options: clang's own; by default no pass runs.

    Raises:
        CompileError: clang rejects it.
        CompilerTimeout: clang does not end.
    """
    command = [str(find_tool("clang")), f"-{level}", "-w", *options, "-c", "-x", "ir", "-", "-o", "-"]
    try:
        done = subprocess.run(command, input=bitcode, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise CompilerTimeout(f"no code within {seconds:g} seconds") from None
    if done.returncode:
        report = done.stderr.decode(errors="replace").strip()
        raise CompileError(f"clang's code generation failed: {report[-2000:]}")
    return done.stdout
