"""Evaluating one site apart from the rest of its program: milliseconds where the whole takes seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from burnish.core.errors import IllegalAction
from burnish.core.objective import Objective
from burnish.core.recent import Recent
from burnish.core.session import Part
from burnish.core.trace import Trace, entry, split_entry
from burnish.search.space import Evaluation

KNOWN = 4096  # parts whose states' costs a worker process keeps

_costs: Recent[tuple[str, str, str], dict[str, float]] = Recent(KNOWN)  # of a worker process, by digest


def evaluate_alone(
    part: Part, objective: Objective, before: int, begin: float | None, traces: Sequence[Trace]
) -> Iterator[tuple[Evaluation, bool]]:
    """Evaluate traces that differ at one site, in a worker process; yield each with True.

    Many change nothing, or lead to the same state: code is generated once for each.

    Args:
        part: The site after the entries that all traces begin with.
        objective: What to measure.
        before: How many entries that are.
        begin: What the site costs there, where that is known.
        traces: Which.
    """
    root = part.open(part.program)
    key = (part.program.digest, repr(part.open), objective.name)
    if (costs := _costs.get(key)) is None:
        _costs.put(key, costs := {})
    digest = root.digest()
    if digest not in costs:
        costs[digest] = root.measure(objective.name, part.site) if begin is None else begin
    begin = costs[digest]
    for trace in traces:
        session = root.fork()
        path, trimmed = trace[:before], trace[:before]
        for text in trace[before:]:
            try:
                changed = session.apply(session.index(split_entry(text)[1]), part.site)
            except IllegalAction:
                continue
            path += (text,)
            trimmed += (text,) if changed else ()
        digest = session.digest()
        if digest not in costs:
            costs[digest] = session.measure(objective.name, part.site)
        session.close()
        yield Evaluation(trimmed, costs[digest] - begin, path, site_costs={part.site: costs[digest]}), True
    root.close()


def at_site(trace: Trace, before: int, site: str) -> Trace:
    """Return a trace whose entries after so many are at another site."""
    return trace[:before] + tuple(entry(split_entry(text)[1], site) for text in trace[before:])


def moved(evaluation: Evaluation, before: int, site: str) -> Evaluation:
    """Return what an evaluation says of an equal site."""
    trace, path = (at_site(item, before, site) for item in (evaluation.trace, evaluation.path))
    return replace(evaluation, trace=trace, path=path)
