"""A policy of schedules: a cost model's best candidates, then variations; networks op by op."""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from functools import partial
from time import monotonic

from burnish.core.guide import InitialTraces
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.tasks.mlir_schedules.features import COLUMNS
from burnish.tasks.mlir_schedules.policy.independent_ops import IndependentOps
from burnish.tasks.mlir_schedules.policy.op_search import OpSearch
from burnish.tasks.mlir_schedules.reading import LANGUAGE
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.mlir_schedules.sketches import opened, trace_of
from burnish.tasks.tensors.policy.cost_model import CostModel, load_policy

KIND = "op-schedule-costs"
REPEATED = 500  # repeated traces in a row that end the search
INDEPENDENT_FROM = 16  # ops; if a program has at least this many, they are also measured independently
INDEPENDENT_SHARE = 1.5  # seconds of these for each second of a whole program, without a time limit
FIRST_SHARE = 0.4  # share of the time limit for these measurements before the first whole program
RESERVE = 1.2  # the time kept for the last whole program, over the time of the one before


def propose(program: Program, model: CostModel, ends: float = math.inf) -> InitialTraces:
    """Yield traces of a program, most promising first; the caller sends the cost of each in seconds.

    In a program of many ops, the ops are measured independently before each trace. The trace has the
    fastest measured choice of each op.

    ends: the time of the end, by time.monotonic(); infinity if there is no time limit. With a limit, a
        program of many ops is evaluated twice: after the first measurements of ops, and at the end.
    """
    began = monotonic()
    session = open_program(program)
    before, ops = opened(session)
    search = OpSearch(ops, model)
    with ExitStack() as stack:
        independent = None
        if len(ops) >= INDEPENDENT_FROM:
            session.replay(before)
            independent = stack.enter_context(closing(IndependentOps(session, search)))
            now = monotonic()
            independent.measure(now - began if math.isinf(ends) else FIRST_SHARE * (ends - now))
            search.next_is(independent.fastest())
        seen: set[Trace] = set()
        repeated = 0
        while (candidate := search.next()) and repeated < REPEATED:
            trace = (*before, *trace_of(ops, candidate.sketches))
            if trace in seen:
                repeated += 1
                continue
            seen.add(trace)
            repeated = 0
            start = monotonic()
            cost = yield trace
            if cost is not None and math.isfinite(cost):
                search.measured(candidate, cost)
            if independent:
                now = monotonic()
                whole = now - start
                independent.measure(
                    INDEPENDENT_SHARE * whole if math.isinf(ends) else ends - now - RESERVE * whole
                )
                search.next_is(independent.fastest())


def propose_for(session: Session, model: CostModel) -> InitialTraces:
    """Yield traces of the session's program, until the session ends; see `propose`."""
    text = session.observe("program")
    assert isinstance(text, str)
    return propose(Program("program", LANGUAGE, text.encode()), model, session.ends)


load_for = partial(load_policy, known=COLUMNS, kind=KIND, propose=propose_for)
