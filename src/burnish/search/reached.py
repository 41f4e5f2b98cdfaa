"""What a worker process of a search does: from traces to states, every shared prefix once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.core.task import Opener
from burnish.core.trace import Trace
from burnish.search.prefix_tree import Ask, PrefixTree
from burnish.search.space import Evaluation

T = TypeVar("T")

_trees: dict[tuple[str, str], PrefixTree] = {}  # of a worker process


def evaluate_traces(
    opener: Opener,
    program: Program,
    objective: Objective,
    traces: Sequence[Trace],
    ask: Ask,
    early: bool,
) -> Iterator[tuple[Evaluation, bool]]:
    """Evaluate traces in a worker process, one after the other; yield each with True.

    Args:
        opener: Of the program.
        program: What they are applied to.
        objective: What to measure.
        traces: Which.
        ask: What else to say of each.
        early: Also yield what is cheaper than all before, as soon as it is there, with False.
    """
    tree = _tree(opener, program)
    for trace, following in zip(traces, [*traces[1:], ()], strict=True):
        shared = _shared(trace, following)
        for evaluation, whole in tree.evaluate(trace, objective, ask, keep=shared):
            if whole or early:
                yield evaluation, whole


def look_at(opener: Opener, program: Program, trace: Trace, look: Callable[[Session], T]) -> T:
    """Verify the state after a trace and look at it, in a worker process."""
    session = _tree(opener, program).reach(trace)
    session.verify()
    seen = look(session)
    session.close()
    return seen


def take_parts(
    opener: Opener, program: Program, objective: Objective, trace: Trace
) -> Iterator[tuple[Part, str]]:
    """Yield each site alone that can be, with its identity, in the state after a trace; in a worker."""
    session = _tree(opener, program).reach(trace)
    identities = session.identities()
    for site in session.sites():
        if part := session.part(site, objective.name):
            yield part, identities.get(site, "")
    session.close()


def _tree(opener: Opener, program: Program) -> PrefixTree:
    key = (program.key, repr(opener))
    if key not in _trees:
        _trees.clear()
        _trees[key] = PrefixTree(opener(program))
    return _trees[key]


def _shared(first: Trace, second: Trace) -> int:
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
