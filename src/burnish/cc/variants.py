"""A short search for one object: variants of its functions, of passes and machine code together.

The level's own passes run once; each variant costs the compilation behind them. See burnish.cc.short_search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import NamedTuple

from burnish import _native
from burnish.cc.back_end import back_end_of, level_of
from burnish.cc.jobs import ClangJob
from burnish.cc.machine_code import ANOTHER_OBJECT, NO_BACK_END, least_tried
from burnish.cc.prior_variants import variants_of
from burnish.cc.repeating import BEGIN
from burnish.cc.requests import Attempt, Emitted, KeptReference, LeftToClang, Request, Start
from burnish.cc.searching import MOST, NOTHING, keep, objective_of
from burnish.cc.short_search import Make, Trial, Tried, code_of, one_after_another, short_search
from burnish.cc.variations import vary_functions
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.staged import Stage, StagedSession
from burnish.core.trace import Trace
from burnish.core.walk import replay_legal
from burnish.llvm.modules.debug_info import without_debug_info
from burnish.llvm.modules.module import clone_module
from burnish.llvm.modules.origin import Options, Origin, ReferenceSizes
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.llvm.targets import REGISTERS, machine_of
from burnish.search.memory import Memory
from burnish.tasks.llvm_codegen import TASK as CODEGEN
from burnish.tasks.llvm_codegen.actions import OUTLINE
from burnish.tasks.llvm_codegen.generations import GeneratedCode, Generations
from burnish.tasks.llvm_codegen.passes import X86
from burnish.tasks.llvm_codegen.session import CodegenSession
from burnish.tasks.llvm_passes import LANGUAGE
from burnish.tasks.llvm_passes_and_codegen import TASK

# Time for traces of the program and variants, in units of a code generation; other processes wait meanwhile.
LEAST_FOR_PROGRAMS = 5.0
# Where trials are few, a program that repeats code gets traces of the whole program.
INLINED = 2.0  # least growth by functions that must be inlined
OUTLINED = 0.3  # least share of the instructions that burnish's outliner takes
LEFT_FOR_FUNCTIONS = 8.0  # time for variants of functions, in units of the last trial of a whole program


def vary(start: Start, request: Request) -> Attempt:
    """Return the best attempt of a short search.

    Raises:
        LeftToClang: burnish's back end writes another object than clang's, or none.
        KeptReference: nothing smaller was found.
        BurnishError: the module cannot be read, or LLVM fails.
    """
    start = _with_level(start)
    objective, first = objective_of(request), _opened(start, request)
    memory, remembered = _memory(first, objective, request), []
    if memory:
        traces, own = memory.look_up(first)[:MOST], first.origin.reference or ()
        remembered = [trace[len(own) :] for trace in traces if trace[: len(own)] == own]
    if request.remembered and not remembered:
        raise KeptReference(NOTHING)
    level = _staged(first, start)
    front = level.fork()
    stock = _level_code(level, first.origin, start)
    known = variants_of(machine_of(first.module.triple))
    made = start.level and start.level.emitted
    few = made and request.seconds_left() < LEAST_FOR_PROGRAMS * made.seconds * request.processes
    whole = () if request.remembered or remembered else known.of_programs
    always = _always_tried(start, front, level, whole, few=bool(few))
    variants = () if request.remembered else known.of_functions
    further = () if few else whole
    session, tried = _best_trace(front, level, always, further, objective, request)
    everywhere = decisions_everywhere(first.module)
    if request.evaluations is not None:
        others = tried + len(everywhere) + 1  # one is for the joined object
        variants = variants[: max(1, request.evaluations - others)]
    expected = made.seconds if made else 0.0
    found = short_search(
        session,
        objective,
        variants,
        request.seconds_left,
        least_tried(request),
        remembered,
        _at_once(start, request),
        expected,
        everywhere,
    )
    evaluations = 0 if request.remembered else tried + found.evaluations  # results of earlier searches
    counts, calls = (evaluations, found.crashes), stock.call_costs
    if found.session is level:
        why = KeptReference("nothing smaller was found", *counts)
        bitcode = code_of(level).opened.module.bitcode()
        why.level = Attempt(bitcode, (), 0, calls, emitted=Emitted(stock.code, calls))
        raise why
    trace, code = tuple(found.session.trace), code_of(found.session)
    if memory:
        keep(memory, trace, found.cost)
    bitcode = code.opened.module.bitcode()
    return Attempt(bitcode, trace, evaluations, calls, found.crashes, code=code.object_code())


def vary_further(start: Start, request: Request, trace: Trace) -> Attempt:
    """Return the best attempt of variations at each function after the trace of a short search.

    Raises:
        LeftToClang, KeptReference, BurnishError: see `vary`.
    """
    start = _with_level(start)
    objective, first = objective_of(request), _opened(start, request)
    level = _staged(first, start)
    front = level.fork()
    stock = _level_code(level, first.origin, start)
    found = vary_functions(front, trace or tuple(level.trace), objective, request)
    counts = found.evaluations, found.crashes
    if found.cost >= level.measure(objective):
        raise KeptReference("nothing smaller was found", *counts)
    code, made = code_of(found.session), tuple(found.session.trace)
    if memory := _memory(first, objective, request):
        keep(memory, made, found.cost)
    return Attempt(
        code.opened.module.bitcode(),
        made,
        found.evaluations,
        stock.call_costs,
        found.crashes,
        code=code.object_code(),
    )


def _memory(first: ModuleSession, objective: str, request: Request) -> Memory | None:
    """Return the memory of earlier results for the program, if the user asks for one."""
    if request.options.memory is None:
        return None
    return Memory(request.options.memory, TASK, without_debug_info(first.origin.program), objective)


def decisions_everywhere(module: _native.Module) -> Trace:
    """Return the decisions to try on a whole program: LLVM's outliner ignores the price of unwind tables."""
    runs_outliner = machine_of(module.triple) in REGISTERS - X86
    return OUTLINE[-1:] if runs_outliner and module.has_unwind_tables else ()


def _at_once(start: Start, request: Request) -> Make:
    """Return the way in which trials are made: in this process, or in several at the same time."""
    steps, most = start.steps, request.processes
    if steps is None or most < 2:
        return one_after_another

    def make(trials: Iterable[Trial]) -> Iterator[Tried | KeptReference]:
        return steps((partial(_without_state, trial) for trial in trials), most)

    return make


def _without_state(trial: Trial) -> Tried:
    return replace(trial(), state=None)


def repeated(start: Start, request: Request, trace: Trace, *, checks: bool) -> Attempt:
    """Return the attempt of an earlier trace; entries that do not apply any more are skipped.

    With `checks`, burnish's back end must make clang's object of the level's own passes, as in a search.
    Without, an earlier build has checked that for the same options.

    Raises:
        LeftToClang, BurnishError: see `vary`.
    """
    if checks:
        start = _with_level(start)
    first = _opened(start, request)
    session = _staged(first, start)
    if checks:
        _level_code(_staged(_opened(start, request), start), first.origin, start)
    own = first.origin.reference or () if trace[:1] == (BEGIN,) else ()  # decisions alone are after the level
    replay_legal(session, (*own, *trace))
    code = code_of(session)
    code.opened.verify()
    found = tuple(session.trace[len(own) :])
    return Attempt(code.opened.module.bitcode(), found, 0, code=code.object_code())


def _with_level(start: Start) -> Start:
    """Return the start with the module and the object after the level's own passes.

    Raises:
        LeftToClang: burnish's back end does not take the options of the command.
    """
    if start.level:
        return start
    job = ClangJob(start.command)
    if back_end_of(job) is None:
        raise LeftToClang(NO_BACK_END)
    level = level_of(start.bitcode, job)
    return replace(start, level=level, level_bitcode=level.bitcode)


class Begun(NamedTuple):
    """A program on the way of a trace: its state, and the entries that are left."""

    state: Session
    rest: Trace
    outlined: float = 0.0  # the share of the instructions that burnish's outliner took before any pipeline


def _begin(front: Session, level: Session, trace: Trace) -> Begun:
    """Return the program after the begin of a trace: the level's passes, or burnish's outliner."""
    own = tuple(level.trace)
    if trace[: len(own)] == own:
        return Begun(level, trace[len(own) :])
    pipeline = next((i for i, text in enumerate(trace) if text.startswith("clang<")), len(trace))
    outliner = next((i for i, text in enumerate(trace[:pipeline]) if text.startswith("outline")), None)
    if outliner is None:
        return Begun(front, trace)
    state = front.fork()
    replay_legal(state, trace[:outliner])
    before = _instructions(state)
    replay_legal(state, trace[outliner : outliner + 1])
    return Begun(state, trace[outliner + 1 :], 1 - _instructions(state) / max(1, before))


def _always_tried(
    start: Start, front: Session, level: Session, whole: Sequence[Trace], *, few: bool
) -> dict[Trace, Begun]:
    """Return the traces of whole programs to try however little time is left, each with its program begun.

    If trials are few, variants of functions save more, unless the program repeats code, by macros or by
    functions that must be inlined. burnish's outliner takes a large share of macros before any other passes.
    """
    begins = True
    if few:
        written = _native.Module(start.bitcode, "program").instruction_count()
        begins = _instructions(front) > INLINED * written
    begun = {trace: _begin(front, level, trace) for trace in whole}
    first = whole[:begins]
    return {trace: one for trace, one in begun.items() if trace in first or one.outlined > OUTLINED}


def _instructions(session: Session) -> int:
    """Return the number of IR instructions of a program whose code generation has not begun."""
    passes = session.session if isinstance(session, StagedSession) else session
    return int(passes.measure("ir-instructions"))


def _best_trace(
    front: Session,
    level: Session,
    always: Mapping[Trace, Begun],
    further: Sequence[Trace],
    objective: str,
    request: Request,
) -> tuple[Session, int]:
    """Return the session after the best of some traces for the whole program, or the level's; and how many.

    `further` traces are tried while LEFT_FOR_FUNCTIONS allows it. `front` is the session before any pass.
    """
    best, tried, took = level, 0, 0.0
    for trace in dict.fromkeys((*always, *further)):
        before = request.seconds_left()
        if trace not in always and before < LEFT_FOR_FUNCTIONS * took:
            break
        begun = always.get(trace) or _begin(front, level, trace)
        one = begun.state.fork()
        if replay_legal(one, begun.rest) or begun.outlined:
            tried += 1
            if one.measure(objective) < best.measure(objective):
                best = one
        took = before - request.seconds_left() if math.isfinite(before) else 0.0
    return best, tried


def _opened(start: Start, request: Request) -> ModuleSession:
    """Return the session before any pass."""
    program = Program(PurePath(request.name).name, LANGUAGE, start.bitcode)
    return open_session(program, Options(level=request.level), start.level_bitcode)


def _level_code(session: StagedSession, origin: Origin, start: Start) -> GeneratedCode:
    """Run the level's own passes; return the code after them, which is the reference of limits.

    Raises:
        LeftToClang: it is another object than clang's.
    """
    session.replay(origin.reference or ())
    code = code_of(session).stock()
    if start.own is not None and code.code != start.own:
        raise LeftToClang(ANOTHER_OBJECT)
    origin.reference_calls = code.call_costs
    return code


def _staged(first: ModuleSession, start: Start) -> StagedSession:
    """Return a session of passes, then of code generation with the options of the command.

    Raises:
        LeftToClang: burnish's back end does not take them.
    """
    back_end, origin = back_end_of(ClangJob(start.command)), first.origin
    if back_end is None:
        raise LeftToClang(NO_BACK_END)
    back_end.level = first.options.level
    if start.own is not None:
        own_sizes = _native.object_sizes(start.own, first.module.position_independent)
        origin.reference_sizes = ReferenceSizes.of(own_sizes, first.module)

    def code_generation(passes: Session) -> CodegenSession:
        assert isinstance(passes, ModuleSession)
        is_level, module = tuple(passes.trace) == origin.reference, clone_module(passes.module)
        if start.finish(module):
            passes = ModuleSession(module, first.options, origin)
        generations = Generations(passes, back_end)
        if is_level and start.level and start.level.emitted:
            generations.know(start.level.emitted.code, start.level.emitted.calls)
        return CodegenSession(generations)

    return StagedSession(TASK.actions, (Stage(CODEGEN, code_generation),), first)
