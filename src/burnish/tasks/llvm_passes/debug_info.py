"""Debug information is set aside while passes are searched, and described again at the end.

A file has the same code with and without it: the states are the same, and each is evaluated once. What LLVM
does to describe variables takes no time in a search and crashes none. At the end the passes run once more, on
the module with debug information.
"""

from __future__ import annotations

from dataclasses import replace

from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.core.walk import after
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes.modules import emit_object, read_module
from burnish.tasks.llvm_passes.origin import Options


def without_debug_info(program: Program) -> Program:
    """Return a program as clang without -g makes it: the same object where that is what it is.

    Raises:
        ProgramError: it cannot be read.
    """
    module = read_module(program)
    if not module.has_debug_info:
        return program
    module.drop_debug_info()
    return replace(program, content=module.bitcode())


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
    check_code(problem.program, described, plain)
    return described


def check_code(program: Program, described: bytes, plain: bytes) -> None:
    """Check that a state has the same code with debug information and without.

    Args:
        program: What both are states of.
        described: Bitcode of the state with debug information.
        plain: Likewise without.

    Raises:
        CompilerCrash: the passes did otherwise.
        ProgramError: the bitcode cannot be read.
    """
    found, sought = (replace(program, content=content) for content in (described, plain))
    bare = without_debug_info(found)
    if bare.content != plain and _code(bare) != _code(sought):
        raise CompilerCrash("the passes give other code if there is debug information")


def _code(program: Program) -> bytes:
    """Return what a program is compiled to, at any one level."""
    return emit_object(read_module(program), Options().level, Options().cpu)
