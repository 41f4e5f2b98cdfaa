"""Sessions of llvm_passes with answers for the inliner: pass ordering after inlining decisions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import takewhile

import numpy as np

from burnish import _native
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry
from burnish.llvm.modules.module import run_answered
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.passes import PASSES
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.tasks.llvm_inlining.actions import ACTIONS, INLINE
from burnish.tasks.llvm_inlining.observations import INLINED, QUESTION_SITES, QUESTIONS, WOULD
from burnish.tasks.llvm_inlining.session import InliningSession

ASKING = ("clang<", "inliner-wrapper<")  # passes with an inliner that takes answers


class AnsweredSession(ModuleSession):
    """A module, and answers for the first of the passes ASKING that runs on it."""

    _answers: Mapping[str, bool] = {}  # answers that no pass has used yet
    _was_answered = False

    @classmethod
    def over(cls, opened: ModuleSession, answers: Mapping[str, bool]) -> AnsweredSession:
        """Return a session with answers in place of one that was just opened.

        Args:
            opened: The session, which must not be used afterwards.
            answers: Whether a call is inlined, by site of llvm_inlining. LLVM decides all other sites.
        """
        session = cls(opened.module, opened.options, opened.origin, opened._stopwatch)
        session._answers, session._was_answered = dict(answers), bool(answers)
        return session

    def _run(self, number: int, site: str) -> bool:
        if not (self._answers and PASSES[number].text.startswith(ASKING)):
            return super()._run(number, site)
        answers, self._answers = self._answers, {}
        return run_answered(self.module, number, self.options.level, answers)

    def digest(self) -> str:
        """Return the digest of the module, and of answers that no pass has used yet."""
        digest = super().digest()
        if not self._answers:
            return digest
        both = repr((digest, sorted(self._answers.items())))
        return hashlib.blake2b(both.encode(), digest_size=16).hexdigest()

    def _with(self, module: _native.Module) -> ModuleSession:
        copy = AnsweredSession(module, self.options, self.origin, self._stopwatch)
        copy._answers, copy._was_answered = self._answers, self._was_answered
        return copy

    def _is_reference(self) -> bool:
        return super()._is_reference() and not self._was_answered


def open_answered(program: Program, options: Options, answers: Trace) -> ModuleSession:
    """Open a program before any pass, with answers for its inliner.

    The reference is clang's own pipeline at that level, without answers. An answer to a question that LLVM
    does not ask has no effect.

    Raises:
        ProgramError, InputError: see burnish.llvm.modules.session.open_session.
    """
    given = {site: text == ACTIONS[INLINE] for site, text in map(split_entry, answers)}
    return AnsweredSession.over(open_session(program, options), given)


def open_passes(session: Session) -> ModuleSession:
    """Open the program of a session of llvm_inlining before any pass, with that session's answers.

    A baseline's session, in which all passes have run already, is only forked.
    """
    if isinstance(session, ModuleSession):
        return session.fork()
    if not isinstance(session, InliningSession):
        raise TypeError(
            f"expected a session of LLVM's inlining before these passes, not a {type(session).__name__}"
        )
    program, inlining = session.compiles.program, session.compiles.options
    options = Options(level=inlining.level, cpu=inlining.cpu)
    return AnsweredSession.over(open_session(program, options), session.answers)


def other_answers(session: Session) -> Trace:
    """Return the answers of a session of llvm_inlining that differ from the heuristic's."""
    rows, sites = session.observe(QUESTIONS), session.observe(QUESTION_SITES)
    assert isinstance(rows, np.ndarray)
    named = zip(str(sites).splitlines(), rows, strict=True)
    return tuple(f"{site}: {ACTIONS[row[INLINED]]}" for site, row in named if row[INLINED] != row[WOULD])


def split_answers(trace: Trace) -> tuple[Trace, Trace]:
    """Return the answers at the beginning of a trace, and the passes after them."""
    answers = tuple(takewhile(lambda text: split_entry(text)[1] in ACTIONS, trace))
    return answers, trace[len(answers) :]
