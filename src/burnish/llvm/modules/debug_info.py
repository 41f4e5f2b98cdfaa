"""Removal of debug information before a search for passes, and its return at the end.

A file has the same code with and without debug information, so both have the same states, and each state is
evaluated once. Without debug information, a search spends no time on LLVM's descriptions of variables, which
can also crash LLVM. At the end the passes run once more, on the module with debug information.
"""

from __future__ import annotations

from dataclasses import replace

from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.core.walk import after
from burnish.llvm.modules.module import emit_object, read_module
from burnish.llvm.modules.origin import Options
from burnish.search.problem import Problem


def without_debug_info(program: Program) -> Program:
    """Return a program as clang makes it without -g; the same Program if it has no debug information."""
    module = read_module(program)
    if not module.has_debug_info:
        return program
    module.drop_debug_info()
    return replace(program, content=module.bitcode())


def with_debug_info(problem: Problem, bitcode: bytes, trace: Trace, plain: bytes) -> bytes:
    """Apply a search's trace to a module with debug information, and return the resulting bitcode.

    `problem` is of the module without debug information; `plain` is its bitcode after the trace.

    Raises:
        CompilerCrash: the compiler crashes, or the code differs from that without debug information.
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

    Raises:
        CompilerCrash: the code differs.
    """
    found, sought = (replace(program, content=content) for content in (described, plain))
    bare = without_debug_info(found)
    if bare.content == plain:
        return
    options = Options()  # for comparisons any level will do
    codes = {emit_object(read_module(one), options.level, options.cpu) for one in (bare, sought)}
    if len(codes) > 1:
        raise CompilerCrash("the passes give other code if there is debug information")
