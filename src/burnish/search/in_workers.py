"""The part of a search that runs in worker processes: it applies traces, each shared prefix once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from burnish.core.errors import IllegalAction
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.session import Part, Session
from burnish.core.task import Opener
from burnish.core.trace import Trace
from burnish.search.prefix_tree import PolicyInputs, PrefixTree
from burnish.search.space import Ask, Evaluation, Trial

T = TypeVar("T")

KNOWN = 4096  # isolated sites for which a worker process caches the costs of states

_costs: Recent[tuple[str, str, str], dict[str, float]] = Recent(KNOWN)  # of this process; costs by digest
_trees: dict[tuple[str, str], PrefixTree] = {}  # of this process: at most one, of its last program


def evaluate_traces(
    opener: Opener,
    program: Program,
    objective: Objective,
    traces: Sequence[Trace],
    ask: Ask,
    inputs: PolicyInputs,
    early: bool,
) -> Iterator[tuple[Evaluation, bool]]:
    """Evaluate traces in a worker process, one after the other; yield each evaluation with True.

    Args:
        opener: Opens the program.
        program: The program to which the traces apply.
        objective: The objective to measure.
        traces: The traces to evaluate.
        ask: The parts of each evaluation beside the cost.
        inputs: The inputs of the policy whose predictions are asked for.
        early: Also yield states that are cheaper than all before, as soon as they are reached, with False.
    """
    tree = _tree(opener, program)
    for trace, following in zip(traces, [*traces[1:], ()], strict=True):
        shared = _shared(trace, following)
        for evaluation, whole in tree.evaluate(trace, objective, ask, inputs, keep=shared):
            if whole or early:
                yield evaluation, whole


def evaluate_at_site(
    part: Part, objective: Objective, begin: float | None, trials: Sequence[Trial]
) -> Iterator[tuple[Evaluation, bool]]:
    """Evaluate suffixes at one isolated site: this takes milliseconds if the whole program takes seconds.

    Many suffixes change nothing or lead to the same state, so each state is measured only once.

    Args:
        part: The isolated site, in the state after the common trace.
        objective: The objective to measure.
        begin: The site's cost in that state, if known.
        trials: The suffixes, all at this site.

    Yields:
        Each evaluation with True; its `site_costs` holds the cost of the site.
    """
    root = part.open(part.program)
    key = (part.program.digest, repr(part.open), objective.name)
    if (costs := _costs.get(key)) is None:
        _costs.put(key, costs := {})
    digest = root.digest()
    if digest not in costs:
        costs[digest] = root.measure(objective.name, part.site) if begin is None else begin
    begin = costs[digest]
    for _, suffix in trials:
        session = root.fork()
        changing: Trace = ()
        for action in suffix:
            with suppress(IllegalAction):
                if session.apply(session.index(action), part.site):
                    changing += (action,)
        digest = session.digest()
        if digest not in costs:
            costs[digest] = session.measure(objective.name, part.site)
        session.close()
        yield Evaluation(changing, costs[digest] - begin, site_costs={part.site: costs[digest]}), True
    root.close()


def look_at(opener: Opener, program: Program, trace: Trace, look: Callable[[Session], T]) -> T:
    """Verify the state after a trace, in a worker process, and return the result of `look` for it."""
    session = _tree(opener, program).reach(trace)
    session.verify()
    seen = look(session)
    session.close()
    return seen


def take_parts(
    opener: Opener, program: Program, objective: Objective, trace: Trace
) -> Iterator[tuple[Part, str]]:
    """Yield each site that can be isolated after a trace, with its identity; runs in a worker process."""
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
