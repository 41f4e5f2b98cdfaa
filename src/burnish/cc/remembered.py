"""Remembered results for a program, looked up and applied without a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from burnish.cc.requests import KeptReference
from burnish.core.errors import CompilerCrash
from burnish.core.guide import Guide, GuideFor, in_order
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.search import Method
from burnish.search.evaluator import Evaluator
from burnish.search.memory import Memory
from burnish.search.problem import Problem
from burnish.search.space import Proposals, SearchSpace

T = TypeVar("T")

NOTHING = "no remembered result makes it smaller"
MOST = 1  # traces of similar programs; each costs a compilation


def applied(problem: Problem, trace: Trace, look: Callable[[Session], T]) -> T | str:
    """Return the result of `look` after a trace of this very program, or the compiler's error message.

    Nothing is measured: the trace was measured when it was found.

    Raises:
        ProgramError: the program cannot be read.
    """
    evaluator = Evaluator(problem, workers=1)
    try:
        return evaluator.look(trace, look)
    except CompilerCrash as error:
        return str(error)
    finally:
        evaluator.close()


def alike(memory: Memory) -> GuideFor:
    """Return a guide by the traces of similar programs in memory; without any, it ends the search."""

    def guide_for(session: Session) -> Guide:
        traces = memory.look_up(session)[:MOST]
        if not traces:
            raise KeptReference(NOTHING)
        return Guide(initial_traces=in_order(traces))

    return guide_for


def no_search(_space: SearchSpace, _rng: np.random.Generator) -> Proposals:
    """Propose nothing: the remembered traces have been tried, and no search begins."""
    yield from ()


REMEMBERED = Method("remembered", no_search)
