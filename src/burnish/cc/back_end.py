"""Objects by burnish's own back end, with the options of a `clang -cc1` line.

This module imports little, because a process for one code generation imports it, too.
"""

from __future__ import annotations

from burnish import _native
from burnish.cc import stack_usage
from burnish.cc.jobs import ClangJob
from burnish.cc.outcomes import level_of_passes
from burnish.cc.profiles import without_profile
from burnish.cc.requests import Attempt, Emitted, KeptReference
from burnish.core.clock import PROCESSORS
from burnish.core.errors import CompilerCrash
from burnish.llvm.modules.origin import CallCosts, Options, prepare, run_level

# Options that change code generation for the whole process, that write more than the object, or that are
# missing in burnish's back end.
_NEVER = ("-mllvm", "-split-dwarf-file", "-femulated-tls", "-fno-use-init-array")


def back_end_of(job: ClangJob) -> _native.BackEnd | None:
    """Return the options of a `clang -cc1` line for the back end; None if burnish's cannot have them.

    Whether these options are complete is checked by comparing the objects of both for the same bitcode.
    """
    given = frozenset(without_profile(job)[1].command)
    if any(option in given for option in _NEVER):
        return None
    back_end = _native.BackEnd()
    back_end.level = job.level
    back_end.cpu = job.value("-target-cpu") or ""
    back_end.function_sections = "-ffunction-sections" in given
    back_end.data_sections = "-fdata-sections" in given
    back_end.unique_section_names = "-fno-unique-section-names" not in given
    back_end.zeros_in_bss = "-fno-zero-initialized-in-bss" not in given
    back_end.address_significance = "-faddrsig" in given
    back_end.stack_usage = stack_usage.OPTION in given

    def last(option: str) -> str:
        found = [word.removeprefix(option) for word in job.command if word.startswith(option)]
        return found[-1] if found else ""

    back_end.debugger = last("-debugger-tuning=")
    debug = last("-debug-info-kind=")
    lines_only = debug in ("line-directives-only", "line-tables-only")
    back_end.call_site_info = bool(debug) and not lines_only and job.level != "O0"
    return back_end


def emit(bitcode: bytes, job: ClangJob) -> bytes:
    """Return the object, or the assembly, that a `clang -cc1` line asks for, by burnish's back end.

    Raises:
        KeptReference: burnish's back end does not have these options.
        CompilerCrash: LLVM fails.
    """
    back_end = _back_end(job)
    back_end.assembly = not job.compiles
    try:
        return _native.Module(bitcode, "module").emit_object(back_end)
    except _native.FatalError as error:
        raise CompilerCrash(f"code generation: {error}") from None


def emit_described(bitcode: bytes, job: ClangJob) -> Emitted:
    """Return the object of `emit` with the costs of its calls.

    Raises:
        KeptReference, CompilerCrash: see `emit`.
    """
    back_end = _back_end(job)
    start = PROCESSORS.now()
    try:
        made = _native.generate_code(_native.Module(bitcode, "module"), back_end, {}, scores=True)
    except _native.FatalError as error:
        raise CompilerCrash(f"code generation: {error}") from None
    return Emitted(made.object, CallCosts.of(made), PROCESSORS.now() - start)


def level_of(front: bytes, job: ClangJob) -> Attempt:
    """Return a front end's module after the passes of its level, with the object.

    Raises:
        KeptReference, CompilerCrash: see `emit`.
    """
    after = after_level(front, job)
    made = emit_described(after, job)
    return Attempt(after, (), 0, made.calls, emitted=made)


def after_level(front: bytes, job: ClangJob) -> bytes:
    """Return a module of the front end after the passes of its level."""
    module, level = _native.Module(front, job.source), level_of_passes(job.level)
    module.number_on()
    if module.has_debug_info:
        prepare(module, Options(level=level))
    run_level(module, level)
    return module.bitcode()


def _back_end(job: ClangJob) -> _native.BackEnd:
    back_end = back_end_of(job)
    if back_end is None:
        raise KeptReference("burnish's back end does not take all of clang's options")
    back_end.level = level_of_passes(job.level)
    return back_end
