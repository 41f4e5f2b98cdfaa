"""The machine code of an object, decided function by function, by burnish's back end in the place of clang's.

clang stays in charge: where nothing is decided, burnish's has to write clang's own object of the same module,
byte for byte. That is looked at each time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from operator import methodcaller
from pathlib import PurePath

from burnish import _native
from burnish.cc.back_end import back_end_of
from burnish.cc.jobs import ClangJob
from burnish.cc.optimizer import budget_of
from burnish.cc.remembered import REMEMBERED, alike, applied
from burnish.cc.requests import Generated, KeptReference, MachineCode, OptimizeRequest
from burnish.core.errors import ProgramError
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.core.view import Observed
from burnish.core.walk import after
from burnish.llvm.modules.debug_info import without_debug_info
from burnish.llvm.modules.module import read_module
from burnish.llvm.modules.objectives import within_limits
from burnish.llvm.modules.origin import Options, ReferenceSizes
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.search import DEFAULT, SEARCHES
from burnish.search.evaluator import Evaluator
from burnish.search.memory import Memory
from burnish.search.problem import Problem
from burnish.search.run import Observer, run
from burnish.tasks.llvm_codegen import CodegenOptions, make_codegen
from burnish.tasks.llvm_codegen.generations import Decided, Generations
from burnish.tasks.llvm_codegen.observations import OBJECT
from burnish.tasks.llvm_codegen.session import CodegenSession
from burnish.tasks.llvm_passes import LANGUAGE
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits

LEAST_SECONDS = 0.05
PATIENCE = 24  # evaluations, each of them a trial at every function
ANOTHER_OBJECT = "code generation is left to clang, as burnish's writes another object"
BEGIN = "begin(llvm_codegen)"  # in a trace, where the passes end


def decide(generated: Generated, request: OptimizeRequest) -> MachineCode:
    """Search for what makes a module's object smaller after its passes.

    Raises:
        KeptReference: burnish's back end writes another object than clang's, or nothing smaller was found.
        BurnishError: LLVM gives up.
    """
    if back_end_of(ClangJob(generated.command)) is None:
        raise KeptReference("code generation is left to clang, whose options burnish's does not take")
    problem = _problem(generated, request)
    memory = None
    if request.memory:
        memory = Memory(request.memory, problem.task, problem.program, problem.goal.name)
    if request.remembered and memory and (same := memory.same()):
        return _applied(problem, generated, request, same[0])
    method = REMEMBERED if request.remembered else SEARCHES[DEFAULT]
    guide_for = alike(memory) if request.remembered and memory else memory
    budget = budget_of(replace(request, patience=PATIENCE), LEAST_SECONDS)
    objects: list[Observed] = []
    crashes = [0]
    observer = Observer(lambda progress: crashes.append(progress.crashes), partial(_take, objects))
    try:
        found = run(method, problem, budget, seed=request.seed, guide_for=guide_for, observer=observer)
    except ProgramError:
        raise KeptReference(ANOTHER_OBJECT) from None
    if not objects or not isinstance(objects[0], bytes):
        raise KeptReference("no other machine code is smaller", found.evaluations, crashes[-1])
    if memory:
        memory.keep(found.trace, found.cost)
    try:
        code = _described(problem, generated, request, found.trace, objects[0])
    except KeptReference as error:
        raise KeptReference(str(error), found.evaluations, crashes[-1]) from None
    return MachineCode(code, (BEGIN, *found.trace), found.evaluations, crashes[-1])


def _described(
    problem: Problem, generated: Generated, request: OptimizeRequest, trace: Trace, plain: bytes
) -> bytes:
    """Return the object of a trace with the module's debug information, if it has any.

    Raises:
        KeptReference: code generation does otherwise than for `plain`, the object without.
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


def _applied(problem: Problem, generated: Generated, request: OptimizeRequest, trace: Trace) -> MachineCode:
    """Return the object of what is remembered of this very module.

    Raises:
        KeptReference: burnish's back end writes another object than clang's, or does not survive it.
    """
    try:
        content = applied(problem, trace, methodcaller("observe", OBJECT))
    except ProgramError:
        raise KeptReference(ANOTHER_OBJECT) from None
    if not isinstance(content, bytes):
        raise KeptReference(str(content))
    return MachineCode(_described(problem, generated, request, trace, content), (BEGIN, *trace), 0)


def split_code(trace: Trace) -> tuple[Trace, Trace]:
    """Return what a trace says of passes, and what of code generation."""
    at = trace.index(BEGIN) if BEGIN in trace else len(trace)
    return trace[:at], trace[at + 1 :]


def repeat(generated: Generated, level: str, code: Trace) -> bytes:
    """Return the object of a module whose code is decided as before; clang's own where burnish's is another.

    What does not apply to the module any more is left out.
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


def _problem(generated: Generated, request: OptimizeRequest) -> Problem:
    opener = partial(_open, generated=generated, level=request.level)
    task = replace(make_codegen(CodegenOptions(pipeline=request.level)), open=opener)
    program = without_debug_info(Program(PurePath(request.name).name, task.language, generated.bitcode))
    objective = within_limits(request.objective, request.speed_limit, request.code_growth)
    return Problem(task, program, objective, limits=Limits(begin="fork"))


def _open(program: Program, generated: Generated, level: str) -> CodegenSession:
    return CodegenSession(_generations(program, generated, level))


@lru_cache(maxsize=1)  # a worker opens what it has to look at more than once
def _generations(program: Program, generated: Generated, level: str) -> Generations:
    """Return the code generations of a module, with its debug information or without, by clang's options.

    Raises:
        ProgramError: the first is another object than clang's.
    """
    back_end = back_end_of(ClangJob(generated.command))
    assert back_end
    back_end.level = level
    unoptimized = without_debug_info(replace(program, content=generated.unoptimized))
    opened = open_session(unoptimized, Options(level=level))
    if generated.own is not None:
        own = _native.object_sizes(generated.own, opened.module.position_independent)
        opened.origin.reference_sizes = ReferenceSizes.of(own, opened.module)
    opened.origin.run_time = dict(generated.run_time) or None
    described = replace(program, content=generated.bitcode)
    generations = _of(described, opened, back_end)
    if generations.of(Decided()).code != generated.reference:
        raise ProgramError(f"{program.name}: burnish's back end writes another object than clang's")
    if program.content == generated.bitcode:
        return generations
    back_end.call_site_info, back_end.debugger = False, ""
    return _of(program, opened, back_end)


def _of(program: Program, opened: ModuleSession, back_end: _native.BackEnd) -> Generations:
    state = ModuleSession(read_module(program), opened.options, opened.origin)
    return Generations(state, back_end)


def _take(objects: list[Observed], evaluator: Evaluator, trace: Trace) -> None:
    """Take the object of what was found, where something was."""
    if trace:
        objects.append(evaluator.observe(trace, OBJECT))
