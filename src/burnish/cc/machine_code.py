"""The machine code of an object, chosen function by function, by burnish's back end instead of clang's.

Without decisions, burnish's back end must write the same object as clang for the same module, byte for byte.
This is checked for each module; if the objects differ, clang's object stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import methodcaller
from pathlib import PurePath

from burnish import _native
from burnish.cc.jobs import ClangJob
from burnish.cc.outcomes import level_of_passes
from burnish.cc.repeating import BEGIN
from burnish.cc.requests import Attempt, KeptReference, Request
from burnish.cc.searching import Found, find, keep, objective_of
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.core.view import Observed
from burnish.core.walk import after
from burnish.llvm.modules.debug_info import without_debug_info
from burnish.llvm.modules.module import read_module
from burnish.llvm.modules.origin import CallCosts, Options, ReferenceSizes
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.search.memory import Memory
from burnish.search.problem import Problem
from burnish.tasks.llvm_codegen import CodegenOptions, make_codegen
from burnish.tasks.llvm_codegen.generations import Decided, Generations
from burnish.tasks.llvm_codegen.observations import OBJECT
from burnish.tasks.llvm_codegen.session import CodegenSession
from burnish.tasks.llvm_passes import LANGUAGE
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits

LEAST_SECONDS = 0.05  # of a search if no time is left
PATIENCE = 24  # evaluations; each is a trial at every function
ANOTHER_OBJECT = "code generation is left to clang, as burnish's writes another object"


@dataclass(frozen=True)
class Generated:
    """A module, and the object that clang generated from it."""

    bitcode: bytes = field(repr=False)  # after the passes
    unoptimized: bytes = field(repr=False)  # the same program before any pass
    reference: bytes = field(repr=False)  # clang's object of `bitcode`
    command: tuple[str, ...]  # of clang -cc1, which made the object with these options
    own: bytes | None = field(default=None, repr=False)  # clang's object after its own passes, if known
    calls: CallCosts | None = field(default=None, repr=False, compare=False)  # see Attempt
    evict_policy: str = ""  # see DriverOptions


def decide(generated: Generated, request: Request) -> Attempt:
    """Search for code generation that makes a module's object smaller; the trace is without its passes.

    Raises:
        KeptReference: burnish's back end writes another object than clang's, or nothing smaller was found.
        BurnishError: LLVM fails.
    """
    if back_end_of(ClangJob(generated.command)) is None:
        raise KeptReference("code generation is left to clang, whose options burnish's does not take")
    problem, memory = _problem(generated, request), None
    if request.options.memory:
        memory = Memory(request.options.memory, problem.task, problem.program, problem.goal.name)
    look, asked = methodcaller("observe", OBJECT), replace(request, patience=PATIENCE)
    try:
        found: Found[Observed] = find(
            problem, asked, look, memory=memory, least_seconds=LEAST_SECONDS, guide_for=memory
        )
    except ProgramError:
        raise KeptReference(ANOTHER_OBJECT) from None
    counts = found.evaluations, found.crashes
    if isinstance(found.state, CompilerCrash):
        raise KeptReference(str(found.state), *counts)
    if not isinstance(found.state, bytes):
        raise KeptReference("no other machine code is smaller", *counts)
    if memory:
        keep(memory, found)
    try:
        code = _described(problem, generated, request, found.trace, found.state)
    except KeptReference as error:
        raise KeptReference(str(error), *counts) from None
    trace = (BEGIN, *found.trace)
    return Attempt(generated.bitcode, trace, found.evaluations, crashes=found.crashes, code=code)


def _described(problem: Problem, generated: Generated, request: Request, trace: Trace, plain: bytes) -> bytes:
    """Return the object of a trace with the module's debug information, if it has any.

    Raises:
        KeptReference: the code differs in size from that of `plain`, the object without debug information.
    """
    if problem.program.content is generated.bitcode:
        return plain
    code = repeat(generated, request.level, trace)
    if _constant_bytes(code) != _constant_bytes(plain):
        raise KeptReference("code generation does otherwise where there is debug information")
    return code


def _constant_bytes(code: bytes) -> int:
    sizes = _native.object_sizes(code, True)
    return int(sizes.text_bytes + sizes.read_only_bytes)


def repeat(generated: Generated, level: str, code: Trace) -> bytes:
    """Return the object of a module after the decisions of an earlier trace.

    Decisions that no longer apply to the module are skipped. If burnish's back end does not write clang's
    object without decisions, the result is clang's object.
    """
    if back_end_of(ClangJob(generated.command)) is None:
        return generated.reference
    opener = partial(_open, generated=generated, level=level)
    try:
        session = Sandbox(opener, Program("repeated", LANGUAGE, generated.bitcode))
    except ProgramError:
        return generated.reference
    try:
        with after(session, code, skip_illegal=True) as decided:
            return decided.object_code()
    finally:
        session.shutdown()


def emit(bitcode: bytes, job: ClangJob) -> bytes:
    """Return the object, or the assembly, that a `clang -cc1` line asks for, by burnish's back end.

    Raises:
        KeptReference: burnish's back end does not have these options.
        CompilerCrash: LLVM fails.
    """
    if (back_end := back_end_of(job)) is None:
        raise KeptReference("burnish's back end does not take all of clang's options")
    back_end.level = level_of_passes(job.level)
    back_end.assembly = not job.compiles
    try:
        return _native.Module(bitcode, "module").emit_object(back_end)
    except _native.FatalError as error:
        raise CompilerCrash(f"code generation: {error}") from None


def _problem(generated: Generated, request: Request) -> Problem:
    opener = partial(_open, generated=generated, level=request.level)
    options = CodegenOptions(pipeline=request.level, evict_policy=generated.evict_policy)
    task = replace(make_codegen(options), open=opener)
    program = without_debug_info(Program(PurePath(request.name).name, task.language, generated.bitcode))
    objective = objective_of(request)
    return Problem(task, program, objective, limits=Limits(begin="fork"))


def _open(program: Program, generated: Generated, level: str) -> CodegenSession:
    return CodegenSession(_generations(program, generated, level))


@lru_cache(maxsize=1)  # a worker opens the same program several times
def _generations(program: Program, generated: Generated, level: str) -> Generations:
    """Return the code generations of a module with clang's options; `program` may lack debug information."""
    back_end = back_end_of(ClangJob(generated.command))
    assert back_end
    back_end.level = level
    unoptimized = without_debug_info(replace(program, content=generated.unoptimized))
    opened = open_session(unoptimized, Options(level=level))
    if generated.own is not None:
        own = _native.object_sizes(generated.own, opened.module.position_independent)
        opened.origin.reference_sizes = ReferenceSizes.of(own, opened.module)
    opened.origin.reference_calls = generated.calls

    def of(program: Program) -> Generations:
        module = ModuleSession(read_module(program), opened.options, opened.origin)
        return Generations(module, back_end, generated.evict_policy)

    generations = of(replace(program, content=generated.bitcode))
    if generations.of(Decided()).code != generated.reference:
        raise ProgramError(f"{program.name}: burnish's back end writes another object than clang's")
    if program.content == generated.bitcode:
        return generations
    back_end.call_site_info, back_end.debugger = False, ""
    return of(program)


# Options that change code generation for the whole process, that write more than the object, or that are
# missing in burnish's back end.
_NEVER = ("-mllvm", "-split-dwarf-file", "-femulated-tls", "-fno-use-init-array")


def back_end_of(job: ClangJob) -> _native.BackEnd | None:
    """Return the options of a `clang -cc1` line for the back end; None if burnish's cannot have them.

    Whether these options are complete is checked by comparing the objects of both for the same bitcode.
    """
    given = frozenset(job.command)
    if any(option in given for option in _NEVER):
        return None
    back_end = _native.BackEnd()
    back_end.level = job.level
    back_end.cpu = job.value("-target-cpu") or ""
    back_end.function_sections = "-ffunction-sections" in given
    back_end.data_sections = "-fdata-sections" in given
    back_end.unique_section_names = "-fno-unique-section-names" not in given
    back_end.address_significance = "-faddrsig" in given

    def last(option: str) -> str:
        found = [word.removeprefix(option) for word in job.command if word.startswith(option)]
        return found[-1] if found else ""

    back_end.debugger = last("-debugger-tuning=")
    debug = last("-debug-info-kind=")
    lines_only = debug in ("line-directives-only", "line-tables-only")
    back_end.call_site_info = bool(debug) and not lines_only and job.level != "O0"
    return back_end
