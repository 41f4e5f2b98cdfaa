"""One command of a drop-in compiler, from its arguments to its exit code."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.cc import processes
from burnish.cc.jobs import ClangJobs, make_plan
from burnish.cc.requests import Compiled, DriverOptions, Optimizer
from burnish.core.clock import PROCESSORS, Clock
from burnish.llvm.toolchain import find_tool


def compile_and_improve(
    arguments: Sequence[str],
    options: DriverOptions,
    *,
    cxx: bool,
    optimizer: Optimizer,
    clock: Clock = PROCESSORS,
) -> int:
    """Run clang with the arguments, then make its objects smaller; return clang's exit code.

    If clang compiles nothing to an object, this process becomes clang and does not return. A signal that
    asks burnish to stop, or that ended clang, ends this process too.

    Raises:
        MissingTool: there is no clang.
    """
    clang = find_tool("clang++" if cxx else "clang")
    plan = make_plan(clang, arguments)
    if options.compiled:
        return _improve_only(plan, options, optimizer)
    if plan is None or not (plan.compilations or plan.left_alone or (options.whole_program and plan.links)):
        processes.replace_by([clang, *arguments])
    try:
        with processes.signals_raise():
            before = {path: processes.stamp(path) for path in plan.outputs}
            start = clock.now()
            code = processes.run([clang, *arguments])
            ended = clock.now()
            compiled = Compiled(
                ended - start,
                ended,
                frozenset(path for path in before if processes.stamp(path) not in (None, before[path])),
                clock,
            )
            if code == 0:
                _improve(plan, compiled, options, optimizer)
    except processes.Interrupted as interrupted:
        code = -interrupted.signum
    return code if code >= 0 else processes.die_of(-code)


def _improve_only(plan: ClangJobs | None, options: DriverOptions, optimizer: Optimizer) -> int:
    """Improve the files that clang wrote when the launcher ran it."""
    if plan is None or options.compiled is None:
        return 0
    try:
        with processes.signals_raise():
            _improve(plan, options.compiled, options, optimizer)
    except processes.Interrupted as interrupted:
        return processes.die_of(interrupted.signum)
    return 0


def _improve(plan: ClangJobs, compiled: Compiled, options: DriverOptions, optimizer: Optimizer) -> None:
    """Run the steps after clang; most commands do not need them, so they are imported here."""
    from burnish.cc.outcomes import carry_out

    if options.whole_program:
        from burnish.cc.link.commands import outcomes_of
    else:
        from burnish.cc.objects import outcomes_of
    carry_out(outcomes_of, plan, compiled, options, optimizer)
