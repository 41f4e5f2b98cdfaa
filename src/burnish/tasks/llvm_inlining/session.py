"""Sessions of LLVM's inlining: compiles in clang's pipeline, and the answers to their questions."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.answer import MakeAnswerer, made
from burnish.core.errors import CompilerCrash, InputError, UnknownName
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.session import Session
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.core.view import Mask, Observed
from burnish.llvm.modules.origin import Options as ModuleOptions
from burnish.llvm.modules.session import ModuleSession, open_baseline
from burnish.llvm.modules.session import open_session as open_module
from burnish.llvm.representations.ir2vec import DIMENSION, SeedVectors, Vectors, shipped_seed_vectors
from burnish.llvm.run.stopwatch import Stopwatch
from burnish.tasks.llvm_inlining.actions import ACTIONS, INLINE, LEAVE
from burnish.tasks.llvm_inlining.networks import network_of
from burnish.tasks.llvm_inlining.objectives import OBJECTIVES
from burnish.tasks.llvm_inlining.observations import (
    CALLEE_VECTOR,
    CALLER_VECTOR,
    ESTIMATE,
    FEATURES,
    HEURISTIC_ANSWER,
    INLINED,
    INLINING_FEATURES,
    OBSERVATIONS,
    OF_QUESTIONS,
    QUESTION,
    QUESTION_SITES,
    QUESTION_VECTORS,
    ROW,
    THRESHOLD,
    VECTORS,
    WOULD,
)

KEPT_INSTRUCTIONS = 1_000_000  # IR instructions of all kept modules of a program, by their size when opened
FEWEST, MOST = 4, 64  # limits on the number of kept modules, whatever their size

Row = NDArray[np.int64]
"""A question's row: int64[43], see observations.ROW."""
Answers = frozenset[tuple[str, bool]]
"""Pairs of a site and whether its call is inlined."""


@dataclass(frozen=True)
class InlinedModule:
    """The result of a finished compile; it is never changed, so sessions with the same answers share it."""

    state: ModuleSession  # measures and observes the module
    places: dict[str, int]  # site -> index of its row, in LLVM's order
    rows: NDArray[np.int64]  # [N, 43]
    vectors: Vectors | None  # [N, 150]: the callee's, then the caller's; None if they were not computed

    @property
    def sites(self) -> Iterable[str]:
        """The sites of the questions, in LLVM's order."""
        return self.places

    def __contains__(self, site: str) -> bool:
        return site in self.places

    def row(self, site: str) -> Row:
        """Return the row of a question."""
        found: Row = self.rows[self.places[site]]
        return found

    def vectors_at(self, site: str) -> Vectors:
        """Return the vectors of a question's callee and caller: float32[150]."""
        assert self.vectors is not None
        found: Vectors = self.vectors[self.places[site]]
        return found


class RunningCompile:
    """A running compile with answers; see native/inlining.h. If LLVM fails, methods raise CompilerCrash."""

    def __init__(
        self,
        module: _native.Module,
        level: str,
        answers: Mapping[str, bool],
        seed_vectors: SeedVectors | None = None,
    ) -> None:
        self._inlining: _native.Inlining | None = _native.Inlining(module, level, dict(answers), seed_vectors)
        self._has_vectors = seed_vectors is not None
        self._places: dict[str, int] = {}

    @property
    def sites(self) -> Iterable[str]:
        """The sites of the questions so far, in LLVM's order."""
        return self._places

    def __contains__(self, site: str) -> bool:
        return site in self._places

    @property
    def dropped(self) -> bool:
        """True if the compile was dropped or is finished; then no other method works."""
        return self._inlining is None

    def drop(self) -> None:
        """Stop the compile and free it."""
        self._inlining = None

    def ask(self) -> str:
        """Continue to the first question without an answer, and return its site; "" if there is none."""
        return next(reversed(self._places)) if self._go(self._going.ask) else ""

    def reach(self, site: str) -> bool:
        """Continue to an open question, and return whether it comes; the heuristic answers those before."""
        return self._go(lambda: self._going.reach(site))

    def waits_at(self, site: str) -> bool:
        """Return whether the compile has stopped at this question."""
        return self._going.waits and self._places[site] == len(self._places) - 1

    def answer(self, inlined: bool) -> None:
        """Answer the question at which the compile has stopped."""
        self._going.answer(inlined)

    def answer_by(self, network: _native.Network) -> None:
        """Use a network to answer all open questions; the second of its two outputs is for inlining."""
        self._going.answer_by(network)

    def row(self, site: str) -> Row:
        """Return the row of a question that was asked."""
        found: Row = self._going.rows(self._places[site])[0]
        return found

    def vectors_at(self, site: str) -> Vectors:
        """Return the vectors of a question's callee and caller: float32[150]."""
        found: Vectors = self._going.vectors(self._places[site])[0]
        return found

    def finish(self) -> tuple[_native.Module, dict[str, int], NDArray[np.int64], Vectors | None]:
        """Continue to the end; the heuristic answers open questions.

        Returns:
            module, places, rows and vectors: see InlinedModule.
        """
        self._go(self._going.finish)
        vectors = self._going.vectors() if self._has_vectors else None
        found = self._going.take(), self._places, self._going.rows(), vectors
        self.drop()
        return found

    @property
    def _going(self) -> _native.Inlining:
        assert self._inlining is not None, "the compile was given up"
        return self._inlining

    def _go(self, go: Callable[[], object]) -> bool:
        try:
            there = bool(go())
        except _native.FatalError as error:
            self.drop()
            raise CompilerCrash(f"clang's pipeline: {error}") from None
        for site in self._going.sites(len(self._places)):
            self._places[site] = len(self._places)
        return there


class Compiles:
    """The compiles of a program, shared by all its sessions.

    The numbers of finished modules and of running compiles are limited. A result that is no longer kept is
    compiled again on the next request.
    """

    def __init__(self, program: Program, opened: ModuleSession, stopwatch: Stopwatch | None) -> None:
        """Initialize the compiles of a program; `opened` has its module before the pipeline."""
        self.program = program
        self._opened = opened
        self._stopwatch = stopwatch
        size = max(1, opened.module.instruction_count())
        self._most = min(MOST, max(FEWEST, KEPT_INSTRUCTIONS // size))
        self._finished: Recent[Answers, InlinedModule] = Recent(self._most)
        self._running: deque[weakref.ref[RunningCompile]] = deque()
        self._seed_vectors: SeedVectors | None = None

    @property
    def have_vectors(self) -> bool:
        """True if the compiles compute vectors at each question."""
        return self._seed_vectors is not None

    def compute_vectors(self) -> None:
        """Compute vectors at each question from now on; drop all compiles without them."""
        self._seed_vectors = shipped_seed_vectors()
        self._finished = Recent(self._most)
        for found in self._running:
            if one := found():
                one.drop()

    @property
    def opened(self) -> _native.Module:
        """The module before the pipeline, with the level's attributes."""
        return self._opened.module

    def known(self, answers: Answers) -> InlinedModule | None:
        """Return the kept result for some answers; None if there is none."""
        return self._finished.get(answers)

    def start(self, answers: Mapping[str, bool]) -> RunningCompile:
        """Start a compile; if too many are running, drop the oldest ones."""
        alive = [found for found in self._running if (one := found()) and not one.dropped]
        for found in alive[: max(0, len(alive) - self._most + 1)]:
            if one := found():
                one.drop()
        compile_ = RunningCompile(self.opened, self._opened.options.level, answers, self._seed_vectors)
        self._running = deque([*alive[-self._most + 1 :], weakref.ref(compile_)])
        return compile_

    def finish(self, compile_: RunningCompile, answers: Answers) -> InlinedModule:
        """Finish a compile, and keep the result."""
        self._finished.put(answers, found := self._result(compile_))
        return found

    def finish_by(self, network: _native.Network, answers: dict[str, bool]) -> InlinedModule:
        """Compile once while a network answers open questions; add them to `answers`, and keep the result."""
        compile_ = self.start(answers)
        compile_.answer_by(network)
        found = self._result(compile_)
        answers |= {
            site: bool(inlined)
            for site, inlined in zip(found.places, found.rows[:, -1], strict=True)
            if site not in answers
        }
        self._finished.put(frozenset(answers.items()), found)
        return found

    @property
    def options(self) -> ModuleOptions:
        """The options of the opened module."""
        return self._opened.options

    def _result(self, compile_: RunningCompile) -> InlinedModule:
        module, places, rows, vectors = compile_.finish()
        opened = self._opened
        state = ModuleSession(module, opened.options, opened.origin, self._stopwatch)
        return InlinedModule(state, places, rows, vectors)


@dataclass(frozen=True)
class InliningOptions:
    """Options for the pipeline and for code generation."""

    pipeline: str = "Oz"  # clang's level: Oz, Os, O2 or O3
    cpu: str = ""  # for functions that do not name their own; "": the program's, or "x86-64"


class InliningSession(Session):
    """A program and its answers so far. Sites are the open questions.

    A state is its answers; the module is compiled when an observation or a cost needs it. The compile stops
    at the next question and continues from there with the answer, so an episode takes only one compile.
    """

    def __init__(self, compiles: Compiles) -> None:
        super().__init__(ACTIONS)
        self.compiles = compiles
        self.answers: dict[str, bool] = {}
        self._key: Answers | None = None  # key of the result: the answers, or fewer ones with the same result
        self._running: RunningCompile | None = None  # the running compile with these answers
        self._answered = 0  # this many first questions of the compile have answers

    def question(self) -> str:
        """Return the first open question, in LLVM's order; "" if there is none."""
        compile_ = self._current()
        for site in islice(compile_.sites, self._answered, None):
            if site not in self.answers:
                return site
            self._answered += 1
        return "" if isinstance(compile_, InlinedModule) else compile_.ask()

    def sites(self) -> tuple[str, ...]:
        """Return all open questions, in LLVM's order."""
        return tuple(site for site in self.compiled().sites if site not in self.answers)

    def alternatives(self) -> Trace:
        """Return the other answer to every open question, the heuristic's least certain answers first.

        Certainty is the distance between cost and threshold. Of 796 single answers in 14 files, 42 gained. In
        this order, an answer with a gain is before one without in 76 of 100 pairs.
        """
        compiled = self.compiled()
        sites = [site for site in compiled.sites if site not in self.answers]
        rows = compiled.rows[[compiled.places[site] for site in sites]]
        margins = np.abs(rows[:, ESTIMATE] - rows[:, THRESHOLD])
        order = np.argsort(margins, kind="stable")
        return tuple(entry(self.actions[1 - rows[i, INLINED]], sites[i]) for i in order)

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the legal answers: both at an open question, none elsewhere."""
        is_open = site not in self.answers and self._asks(site) if site else bool(self.question())
        return np.full(len(ACTIONS), is_open)

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Answer a question, by default the next open one; return whether the heuristic's answer differs."""
        self.check_legal(action, site)
        site = site or self.question()
        inlined = action == INLINE
        compile_ = self._current()
        row = compile_.row(site)
        if isinstance(compile_, RunningCompile) and compile_.waits_at(site):
            compile_.answer(inlined)
            self._key = None
        elif bool(row[INLINED]) != inlined:  # otherwise the known result stays valid
            self._key = self._running = None
            self._answered = 0
        self.answers[site] = inlined
        self.record(action, site)
        return bool(row[WOULD]) != inlined

    def answer(self, make: MakeAnswerer) -> Trace:
        """See Session; all answers become entries, even those that agree with the heuristic.

        A perceptron on LLVM's features answers in the compile's thread, which takes only one compile.

        Raises:
            InputError: the native core cannot run the policy's network, for example with weights not finite.
        """
        network = network_of(made(make))
        if network is None:
            return super().answer(make)
        first, before = len(self.trace), set(self.answers)
        compiled = self.compiles.finish_by(network, self.answers)
        self._key = self._running = None
        self._answered = 0
        for site in compiled.sites:
            if site not in before:
                self.record(INLINE if self.answers[site] else LEAVE, site)
        return tuple(self.trace[first:])

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        if space not in OBSERVATIONS:
            raise UnknownName.among("observation", space, OBSERVATIONS)
        if space not in OF_QUESTIONS:
            return self._state().observe(space)
        if space in VECTORS and not self.compiles.have_vectors:
            self.compiles.compute_vectors()
        if space == QUESTION:
            return self.question()
        if space in (INLINING_FEATURES, HEURISTIC_ANSWER):
            return self._observe_question(space)
        if space in (CALLEE_VECTOR, CALLER_VECTOR):
            site = self.question()
            both = self._current().vectors_at(site) if site else np.zeros(2 * DIMENSION, dtype=np.float32)
            return (both[:DIMENSION] if space == CALLEE_VECTOR else both[DIMENSION:]).copy()
        compiled = self.compiled()
        if space == QUESTION_VECTORS:
            assert compiled.vectors is not None
            return compiled.vectors
        if space == QUESTION_SITES:
            return "\n".join(compiled.sites)
        answered = np.array([[site in self.answers] for site in compiled.sites], dtype=np.int64)
        return np.hstack([compiled.rows, answered.reshape(-1, 1)])

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return one of OBJECTIVES for the module that the answers lead to; 0 for a site."""
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return self._state().cost(objective) if site == WHOLE_PROGRAM else 0.0

    def costs(self, objective: str) -> dict[str, float]:
        """Return an empty dict: questions have no costs of their own."""
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return {}

    def digest(self) -> str:
        """Return the digest of the module that the answers lead to."""
        return self._state().digest()

    def verify(self) -> str:
        """Run LLVM's verifier on the module that the answers lead to."""
        return self._state().verify()

    def object_code(self) -> bytes:
        """Return the object file of the module that the answers lead to."""
        return self._state().object_code()

    def fork(self) -> InliningSession:
        """Return a session with the same answers, and move the running compile to it.

        Callers usually continue with the copy; this session starts a new compile if it needs one.
        """
        copy = InliningSession(self.compiles)
        copy.trace = list(self.trace)
        copy.answers = dict(self.answers)
        copy._key, copy._answered = self._key, self._answered
        copy._running, self._running = self._running, None
        return copy

    def close(self) -> None:
        """Drop the running compile."""
        self._running = None

    def compiled(self) -> InlinedModule:
        """Return the result of the answers; the heuristic answers all open questions.

        Raises:
            CompilerCrash: LLVM fails.
        """
        compile_ = self._current()
        if isinstance(compile_, InlinedModule):
            return compile_
        self._running = None
        return self.compiles.finish(compile_, self._answers())

    def _current(self) -> InlinedModule | RunningCompile:
        """Return the running or finished compile with the answers; start one if there is none."""
        if self._running and not self._running.dropped:
            return self._running
        if known := self.compiles.known(self._answers()):
            return known
        self._running = self.compiles.start(self.answers)
        return self._running

    def _answers(self) -> Answers:
        if self._key is None:
            self._key = frozenset(self.answers.items())
        return self._key

    def _asks(self, site: str) -> bool:
        """Return whether LLVM asks about this site, with the current answers."""
        compile_ = self._current()
        return site in compile_ or (isinstance(compile_, RunningCompile) and compile_.reach(site))

    def _state(self) -> ModuleSession:
        """Return the session of the resulting module, for measurements and observations."""
        return self.compiled().state

    def _observe_question(self, space: str) -> Observed:
        site = self.question()
        row: Row = self._current().row(site) if site else np.zeros(len(ROW), dtype=np.int64)
        if space == INLINING_FEATURES:
            return row[: len(FEATURES)].copy()
        return np.concatenate([[np.int64(bool(site))], row[WOULD:INLINED]])


def open_inlining(program: Program, options: InliningOptions = InliningOptions()) -> InliningSession:
    """Open a program without answers: LLVM's heuristic decides everything.

    Raises:
        ProgramError: the program cannot be read.
        InputError: there is no such pipeline.
    """
    if options.pipeline == "O0":
        raise InputError("pipeline is 'O0', which inlines only mandatory calls; expected another level")
    # The pipeline itself inlines always_inline functions, as clang's does.
    passes = ModuleOptions(level=options.pipeline, always_inline=False, cpu=options.cpu)
    unoptimized = partial(_unoptimized_object, program, options.cpu)
    stopwatch = Stopwatch(program.workload, unoptimized) if program.workload else None
    return InliningSession(Compiles(program, open_module(program, passes), stopwatch))


def _unoptimized_object(program: Program, cpu: str) -> bytes:
    return open_baseline(program, "O0", cpu).object_code()
