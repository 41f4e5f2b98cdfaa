"""What a memory has of a program, looked up and applied: no search."""

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

NOTHING = "nothing is remembered that makes it smaller"
MOST = 1  # traces of programs that are alike; each is a compilation


def applied(problem: Problem, trace: Trace, look: Callable[[Session], T]) -> T | str:
    """Return what a function sees after a trace of this very program, or what the compiler says against it.

    Nothing is measured: it was when it was found.

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
    """Return the guide by what is remembered of similar programs; without any, it ends the search."""

    def guide_for(session: Session) -> Guide:
        traces = memory.look_up(session)[:MOST]
        if not traces:
            raise KeptReference(NOTHING)
        return Guide(initial_traces=in_order(traces))

    return guide_for


def no_search(_space: SearchSpace, _rng: np.random.Generator) -> Proposals:
    """End where a search would begin: what was remembered has been tried."""
    yield from ()


REMEMBERED = Method("remembered", no_search)
