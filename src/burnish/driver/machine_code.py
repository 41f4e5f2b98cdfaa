"""The machine code of an object, decided function by function, by burnish's back end in the place of clang's.

clang stays in charge: where nothing is decided, burnish's has to write clang's own object of the same module,
byte for byte. That is looked at each time.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from burnish.core.problem import Problem
from burnish.core.program import Program
from burnish.core.sandbox import Sandbox
from burnish.core.trace import Trace
from burnish.core.worker import Limits
from burnish.driver.back_end import back_end_of
from burnish.driver.jobs import ClangJob
from burnish.driver.optimizer import ALL, no_search
from burnish.driver.requests import Generated, MachineCode, OptimizeRequest, Unimproved
from burnish.search import DEFAULT, SEARCHES, Budget, Method
from burnish.search.memory import Memory
from burnish.search.run import run
from burnish.tasks.llvm_codegen import CodegenOptions, make_codegen
from burnish.tasks.llvm_codegen.generations import Generations
from burnish.tasks.llvm_codegen.session import CodegenSession
from burnish.tasks.llvm_passes.modules import read_module
from burnish.tasks.llvm_passes.objectives import within_limits
from burnish.tasks.llvm_passes.session import ModuleSession, Options, open_session

LEAST_SECONDS = 0.05
PATIENCE = 24  # evaluations, each of them a trial at every function
BEGIN = "begin(llvm_codegen)"  # in a trace, where the passes end


def decide(generated: Generated, request: OptimizeRequest) -> MachineCode:
    """Search for what makes a module's object smaller after its passes.

    Raises:
        Unimproved: burnish's back end writes another object than clang's, or nothing smaller was found.
        BurnishError: LLVM gives up.
    """
    if back_end_of(ClangJob(generated.command)) is None:
        raise Unimproved("code generation is left to clang, whose options burnish's does not take")
    problem = _problem(generated, request)
    session = problem.open()
    try:
        if session.object_code() != generated.reference:
            raise Unimproved("code generation is left to clang, as burnish's writes another object")
        adviser = None
        if request.memory:
            adviser = Memory(request.memory, problem.task, problem.program, problem.goal.name, None)
        method = Method("remembered", no_search) if request.remembered else SEARCHES[DEFAULT]
        found = run(method, problem, _budget(request), seed=request.seed, adviser=adviser)
        if not found.trace or math.isinf(found.cost):
            raise Unimproved("no other machine code is smaller", found.evaluations)
        if adviser:
            adviser.keep(found.trace, found.cost)
        return MachineCode(_object_of(session, found.trace), (BEGIN, *found.trace), found.evaluations)
    finally:
        session.shutdown()


def _problem(generated: Generated, request: OptimizeRequest) -> Problem:
    opener = partial(_open, unoptimized=generated.unoptimized, command=generated.command, level=request.level)
    task = replace(make_codegen(CodegenOptions(pipeline=request.level)), open=opener)
    program = Program(PurePath(request.name).name, task.language, generated.bitcode)
    objective = within_limits(request.objective, request.speed_limit, request.code_growth)
    return Problem(task, program, objective, limits=Limits(begin="fork"))


def _open(program: Program, unoptimized: bytes, command: tuple[str, ...], level: str) -> CodegenSession:
    """Open the code generation of a module by the options of clang's command."""
    back_end = back_end_of(ClangJob(command))
    assert back_end
    back_end.level = level
    opened = open_session(replace(program, content=unoptimized), Options(level=level))
    state = ModuleSession(read_module(program), opened.options, opened.origin)
    return CodegenSession(Generations(state, back_end))


def _object_of(session: Sandbox, trace: Trace) -> bytes:
    session.replay(trace)
    return session.object_code()


def _budget(request: OptimizeRequest) -> Budget:
    seconds, evaluations = request.budget_seconds, ALL if request.remembered else request.evaluations
    if request.until is not None:
        seconds = max(LEAST_SECONDS, request.until - time.monotonic())
    return Budget(seconds, evaluations, PATIENCE, workers=1)  # the build uses the other cores
