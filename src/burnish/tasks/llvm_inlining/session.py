"""One LLVM module on its way through clang's pipeline, and the answers that its inliner was given."""

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
from burnish.tasks.llvm_passes.origin import Options as ModuleOptions
from burnish.tasks.llvm_passes.session import ModuleSession, open_baseline
from burnish.tasks.llvm_passes.session import open_session as open_module


@dataclass(frozen=True)
class InliningOptions:
    """Which pipeline asks, and for what code is generated."""

    pipeline: str = "Oz"  # clang's level: Oz, Os, O2 or O3
    cpu: str = "x86-64"  # for functions that do not name their own


class InliningSession(Session):
    """A program and the answers that were given. Sites are the questions that have none.

    A state is its answers: what they lead to is compiled when somebody wants to know it. The compile stops
    where the next question is, and goes on from there with its answer, so that an episode takes one.
    """

    def __init__(self, compiles: Compiles) -> None:
        super().__init__(ACTIONS)
        self.compiles = compiles
        self.answers: dict[str, bool] = {}
        self._key: Answers | None = None  # by which the result is kept: the answers, or as good as those
        self._running: RunningCompile | None = None  # under the answers, on its way
        self._answered = 0  # so many of the compile's first questions have answers

    def question(self) -> str:
        """Return the first question without an answer, in LLVM's order; "" where there is none."""
        compile_ = self._current()
        for site in islice(compile_.sites, self._answered, None):
            if site not in self.answers:
                return site
            self._answered += 1
        return "" if isinstance(compile_, InlinedModule) else compile_.ask()

    def sites(self) -> tuple[str, ...]:
        """Return all questions without an answer, in LLVM's order."""
        return tuple(site for site in self.compiled().sites if site not in self.answers)

    def alternatives(self) -> Trace:
        """Return the other answer to every open question, where LLVM's heuristic was least certain first.

        Of 796 single answers in 14 files, 42 gained; so ordered, one that gains is before one that does not
        in 76 of 100 pairs.
        """
        compiled = self.compiled()
        sites = [site for site in compiled.sites if site not in self.answers]
        rows = compiled.rows[[compiled.places[site] for site in sites]]
        margins = np.abs(rows[:, ESTIMATE] - rows[:, THRESHOLD])
        order = np.argsort(margins, kind="stable")
        return tuple(entry(self.actions[1 - rows[i, INLINED]], sites[i]) for i in order)

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Both answers are, where LLVM asks and nobody has answered."""
        is_open = site not in self.answers and self._asks(site) if site else bool(self.question())
        return np.full(len(ACTIONS), is_open)

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Answer a question, by default the one at hand; return whether the heuristic answers otherwise."""
        self.check_legal(action, site)
        site = site or self.question()
        inlined = action == INLINE
        compile_ = self._current()
        row = compile_.row(site)
        if isinstance(compile_, RunningCompile) and compile_.waits_at(site):
            compile_.answer(inlined)
            self._key = None
        elif bool(row[INLINED]) != inlined:  # else what was known without the answer is known with it
            self._key = self._running = None
            self._answered = 0
        self.answers[site] = inlined
        self.record(action, site)
        return bool(row[WOULD]) != inlined

    def answer(self, make: MakeAnswerer) -> Trace:
        """See Session: all answers are entries, those that are the heuristic's own as well.

        A perceptron on LLVM's features answers in the thread of the compile, and there is one compile.

        Raises:
            InputError: the policy's weights are none that a network can have.
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
        """Return one of OBJECTIVES of what the answers lead to; a question has no cost of its own."""
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return self._state().cost(objective) if site == WHOLE_PROGRAM else 0.0

    def costs(self, objective: str) -> dict[str, float]:
        """Return nothing: questions have no costs of their own."""
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return {}

    def digest(self) -> str:
        """Return the digest of the module that the answers lead to."""
        return self._state().digest()

    def verify(self) -> str:
        """Run LLVM's verifier on it."""
        return self._state().verify()

    def object_code(self) -> bytes:
        """Return the object file that the back end makes of it."""
        return self._state().object_code()

    def fork(self) -> InliningSession:
        """Return a session with the same answers, and with the compile that is on its way.

        Who forks goes on with the copy; this one would compile anew.
        """
        copy = InliningSession(self.compiles)
        copy.trace = list(self.trace)
        copy.answers = dict(self.answers)
        copy._key, copy._answered = self._key, self._answered
        copy._running, self._running = self._running, None
        return copy

    def close(self) -> None:
        """Give up the compile."""
        self._running = None

    def compiled(self) -> InlinedModule:
        """Return what the answers lead to; the heuristic has answered the rest.

        Raises:
            CompilerCrash: LLVM gives up.
        """
        compile_ = self._current()
        if isinstance(compile_, InlinedModule):
            return compile_
        self._running = None
        return self.compiles.finish(compile_, self._answers())

    def _current(self) -> InlinedModule | RunningCompile:
        """Return the compile under the answers, as far as it has come."""
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
        """Return whether LLVM asks there, under these answers."""
        compile_ = self._current()
        return site in compile_ or (isinstance(compile_, RunningCompile) and compile_.reach(site))

    def _state(self) -> ModuleSession:
        """Return what measures and shows the result."""
        return self.compiled().state

    def _observe_question(self, space: str) -> Observed:
        site = self.question()
        row: Row = self._current().row(site) if site else np.zeros(len(ROW), dtype=np.int64)
        if space == INLINING_FEATURES:
            return row[: len(FEATURES)].copy()
        return np.concatenate([[np.int64(bool(site))], row[WOULD:INLINED]])


def open_inlining(program: Program, options: InliningOptions = InliningOptions()) -> InliningSession:
    """Open a program: LLVM's heuristic answers everything.

    Raises:
        ProgramError: it cannot be read.
        InputError: there is no such pipeline.
    """
    if options.pipeline == "O0":
        raise InputError("pipeline is 'O0', which inlines only mandatory calls; expected another level")
    # always_inline is honoured in the pipeline, as it is in clang's.
    passes = ModuleOptions(level=options.pipeline, always_inline=False, cpu=options.cpu)
    unoptimized = partial(_unoptimized_object, program, options.cpu)
    stopwatch = Stopwatch(program.workload, unoptimized) if program.workload else None
    return InliningSession(Compiles(program, open_module(program, passes), stopwatch))


def _unoptimized_object(program: Program, cpu: str) -> bytes:
    return open_baseline(program, "O0", cpu).object_code()
