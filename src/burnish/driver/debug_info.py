"""Debug information is set aside while passes are searched, and described again at the end.

A file has the same code with and without it: the states are the same, and each is evaluated once. What LLVM
does to describe variables takes no time in a search and crashes none. At the end the passes run once more, on
the module with debug information.
"""

from __future__ import annotations

from dataclasses import replace

from burnish import _native
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.problem import Problem
from burnish.core.trace import Trace
from burnish.core.walk import after


def without_debug_info(bitcode: bytes) -> bytes:
    """Return a module as clang without -g makes it: the same object where that is what it is.

    Raises:
        ProgramError: it cannot be read.
    """
    module = _module(bitcode)
    if not module.has_debug_info:
        return bitcode
    module.drop_debug_info()
    return module.bitcode()


def with_debug_info(problem: Problem, bitcode: bytes, trace: Trace, plain: bytes) -> bytes:
    """Return the state of a module with debug information after a trace.

    Args:
        problem: Of the module without.
        bitcode: The module with it.
        trace: What was found.
        plain: The state after the trace without debug information.

    Raises:
        CompilerCrash: the compiler does not survive it, or does otherwise than without.
        ProgramError: the module cannot be read.
    """
    root = replace(problem, program=replace(problem.program, content=bitcode)).open()
    try:
        with after(root, trace, skip_illegal=True) as session:
            described = session.observe("bitcode")
    finally:
        root.shutdown()
    assert isinstance(described, bytes)
    if _code(described) != _code(plain):
        raise CompilerCrash("the passes do otherwise where there is debug information")
    return described


def _code(bitcode: bytes) -> bytes:
    """Return what a module without its debug information is compiled to, at any one level."""
    module = _module(bitcode)
    module.drop_debug_info()
    return module.emit_object("Oz")


def _module(bitcode: bytes) -> _native.Module:
    try:
        return _native.Module(bitcode, "program")
    except (_native.InputError, _native.FatalError) as error:
        raise ProgramError(str(error)) from None
