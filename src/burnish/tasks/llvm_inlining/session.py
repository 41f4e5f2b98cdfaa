"""A session: one LLVM module in clang's pipeline, and the answers to its inliner's questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from burnish.core.answer import MakeAnswerer, made
from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.core.view import Mask, Observed
from burnish.llvm.modules.origin import Options as ModuleOptions
from burnish.llvm.modules.session import ModuleSession, open_baseline
from burnish.llvm.modules.session import open_session as open_module
from burnish.llvm.run.stopwatch import Stopwatch
from burnish.tasks.llvm_inlining.actions import ACTIONS, INLINE, LEAVE
from burnish.tasks.llvm_inlining.compiles import Answers, Compiles, InlinedModule, Row, RunningCompile
from burnish.tasks.llvm_inlining.networks import network_of
from burnish.tasks.llvm_inlining.objectives import OBJECTIVES
from burnish.tasks.llvm_inlining.observations import (
    ESTIMATE,
    FEATURES,
    HEURISTIC_ANSWER,
    INLINED,
    INLINING_FEATURES,
    OBSERVATIONS,
    OF_QUESTIONS,
    QUESTION,
    QUESTION_SITES,
    ROW,
    THRESHOLD,
    WOULD,
)


@dataclass(frozen=True)
class InliningOptions:
    """Options for the pipeline and for code generation."""

    pipeline: str = "Oz"  # clang's level: Oz, Os, O2 or O3
    cpu: str = "x86-64"  # for functions that do not name their own


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
        if space == QUESTION:
            return self.question()
        if space in (INLINING_FEATURES, HEURISTIC_ANSWER):
            return self._observe_question(space)
        compiled = self.compiled()
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
