"""clang's code generation without passes: from module to object file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from burnish.core.errors import CompileError, CompilerTimeout
from burnish.llvm.toolchain import find_tool

NO_PASSES = ("-Xclang", "-disable-llvm-passes")


def generate_code(bitcode: bytes, level: str, seconds: float, options: Sequence[str] = NO_PASSES) -> bytes:
    """Compile a module to an object file with clang.

    Args:
        bitcode: The module as bitcode or as text.
        level: clang's optimization level, for code generation.
        seconds: The deadline.
        options: More options of clang; by default no pass runs.

    Raises:
        CompileError: clang rejects the module.
        CompilerTimeout: clang does not end before the deadline.
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
