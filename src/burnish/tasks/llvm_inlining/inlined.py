"""A module behind a pipeline whose inliner had answers, as a session of llvm_passes that goes on there."""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.observations import INLINED, QUESTION_SITES, QUESTIONS, WOULD
from burnish.tasks.llvm_inlining.session import InliningOptions, open_inlining
from burnish.tasks.llvm_passes.session import ModuleSession, Options


def open_inlined(program: Program, options: Options, answers: Trace) -> ModuleSession:
    """Open a program behind the pipeline of the options' level, whose inliner had some answers.

    What it is compared with is clang's own at that level, as without any.

    Raises:
        ProgramError, InputError: see open_inlining; there is no such question.
        CompilerCrash: LLVM gives up.
    """
    session = open_inlining(program, InliningOptions(options.level, options.cpu))
    session.replay(answers)
    state = session.compiled().state
    return ModuleSession(state.module, options, state.origin)


def other_answers(session: Session) -> Trace:
    """Return those answers of a session of llvm_inlining that the heuristic would not give."""
    rows, sites = session.observe(QUESTIONS), session.observe(QUESTION_SITES)
    assert isinstance(rows, np.ndarray)
    named = zip(str(sites).splitlines(), rows, strict=True)
    return tuple(f"{site}: {ACTIONS[row[INLINED]]}" for site, row in named if row[INLINED] != row[WOULD])


def split_answers(trace: Trace) -> tuple[Trace, Trace]:
    """Return the answers that a trace begins with, and the passes behind them."""
    answers = tuple(takewhile(lambda text: split_entry(text)[1] in ACTIONS, trace))
    return answers, trace[len(answers) :]
