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
from burnish.cc.back_end import back_end_of
from burnish.cc.jobs import ClangJob
from burnish.cc.repeating import BEGIN
from burnish.cc.requests import Attempt, Emitted, KeptReference, Request
from burnish.cc.searching import Found, beginning_with, find, keep, objective_of
from burnish.cc.short_search import code_of, short_search
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.view import Observed
from burnish.core.walk import after
from burnish.llvm.modules.debug_info import without_debug_info
from burnish.llvm.modules.module import read_module
from burnish.llvm.modules.origin import CallCosts, Options, Origin, ReferenceSizes, prepare
from burnish.llvm.modules.session import ModuleSession
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
LEAST_SETS, LEAST_SETS_OF_SECONDS = 1, 2  # of a short search; a multiple limits all that burnish does
NO_BACK_END = "code generation is left to clang, whose options burnish's does not take"
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
    emitted: Emitted | None = field(default=None, repr=False, compare=False)  # see Attempt


def decide(generated: Generated, request: Request) -> Attempt:
    """Search for code generation that makes a module's object smaller; the trace is without its passes.

    Raises:
        KeptReference: burnish's back end writes another object than clang's, or nothing smaller was found.
        BurnishError: LLVM fails.
    """
    if back_end_of(ClangJob(generated.command)) is None:
        raise KeptReference(NO_BACK_END)
    if request.short_code:
        return _decide_shortly(generated, request)
    problem, memory = _problem(generated, request), None
    if request.options.memory:
        memory = Memory(request.options.memory, problem.task, problem.program, problem.goal.name)
    look, asked = methodcaller("observe", OBJECT), replace(request, patience=PATIENCE)
    guide_for = beginning_with(request.begin, memory) if request.begin else memory
    try:
        found: Found[Observed] = find(
            problem, asked, look, memory=memory, least_seconds=LEAST_SECONDS, guide_for=guide_for
        )
    except ProgramError:
        raise KeptReference(ANOTHER_OBJECT) from None
    counts = found.evaluations, found.crashes
    if isinstance(found.state, CompilerCrash):
        raise KeptReference(str(found.state), *counts)
    if not isinstance(found.state, bytes):
        raise KeptReference("no other machine code is smaller", *counts)
    if memory:
        keep(memory, found.trace, found.cost)
    try:
        code = _described(problem, generated, request, found.trace, found.state)
    except KeptReference as error:
        raise KeptReference(str(error), *counts) from None
    trace = (BEGIN, *found.trace)
    return Attempt(generated.bitcode, trace, found.evaluations, crashes=found.crashes, code=code)


def _decide_shortly(generated: Generated, request: Request) -> Attempt:
    """Return the attempt of few code generations, in this process; for `decide`.

    Raises:
        KeptReference, BurnishError: see `decide`.
    """
    program = Program(PurePath(request.name).name, LANGUAGE, generated.bitcode)
    task, objective = _task(generated, request), objective_of(request)
    try:
        session = _open(program, generated, request.level)
    except ProgramError:
        raise KeptReference(ANOTHER_OBJECT) from None
    sets, memory = task.hints.for_program(session).suffixes, None
    if request.options.memory:
        memory = Memory(request.options.memory, task, without_debug_info(program), objective)
    remembered = memory.look_up(session)[:1] if memory else ()

    found = short_search(session, objective, sets, request.seconds_left, least_tried(request), remembered)
    if found.session is session:
        raise KeptReference("no other machine code is smaller", found.evaluations, found.crashes)
    trace = tuple(found.session.trace)
    if memory:
        keep(memory, trace, found.cost)
    counts, code = (found.evaluations, None, found.crashes), code_of(found.session).object_code()
    return Attempt(generated.bitcode, (BEGIN, *trace), *counts, code=code)


def least_tried(request: Request) -> int:
    """Return the number of sets, or variants, that a short search tries however little time is left."""
    return LEAST_SETS if request.seconds is None else LEAST_SETS_OF_SECONDS


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


def _task(generated: Generated, request: Request) -> Task:
    opener = partial(_open, generated=generated, level=request.level)
    options = CodegenOptions(pipeline=request.level, evict_policy=generated.evict_policy)
    return replace(make_codegen(options), open=opener)


def _problem(generated: Generated, request: Request) -> Problem:
    task = _task(generated, request)
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
    origin, options = _origin(program, generated, level), Options(level=level)

    def of(program: Program) -> Generations:
        module = ModuleSession(read_module(program), options, origin)
        return Generations(module, back_end, generated.evict_policy)

    generations = of(replace(program, content=generated.bitcode))
    if (emitted := generated.emitted) and emitted.code == generated.reference:
        generations.know(emitted.code, emitted.calls)
    if generations.of(Decided()).code != generated.reference:
        raise ProgramError(f"{program.name}: burnish's back end writes another object than clang's")
    if program.content == generated.bitcode:
        return generations
    back_end.call_site_info, back_end.debugger = False, ""
    return of(program)


def _origin(program: Program, generated: Generated, level: str) -> Origin:
    """Return the origin of a module: the same program before any pass, and what is known of its reference."""
    unoptimized = replace(program, content=generated.unoptimized)
    if generated.calls is None:  # the level's own passes have to run
        unoptimized = without_debug_info(unoptimized)
    origin = Origin(unoptimized, partial(prepare, options=Options(level=level)), (f"clang<{level}>",))
    if generated.own is not None:
        module = read_module(unoptimized)
        own = _native.object_sizes(generated.own, module.position_independent)
        origin.reference_sizes = ReferenceSizes.of(own, module)
    origin.reference_calls = generated.calls
    return origin
