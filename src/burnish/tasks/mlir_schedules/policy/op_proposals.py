"""A policy of schedules: a cost model's best candidates, then variations; networks op by op."""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic

from burnish.core.guide import InitialTraces
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace, of_sites
from burnish.tasks.mlir_schedules.features import COLUMNS, ELEMENT, features_of_trace
from burnish.tasks.mlir_schedules.ops import Op
from burnish.tasks.mlir_schedules.policy.independent_ops import IndependentOps
from burnish.tasks.mlir_schedules.policy.op_search import OpSearch
from burnish.tasks.mlir_schedules.reading import LANGUAGE
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program
from burnish.tasks.mlir_schedules.sketches import comes_before, opened, trace_of
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.policy.cost_model import CostModel, SchedulePolicy, load_policy
from burnish.tasks.tensors.threads import threads_of

KIND = "op-schedule-costs"
REPEATED = 500  # repeated traces in a row that end the search
INDEPENDENT_FROM = 16  # ops; if a program has at least this many, they are also measured independently
INDEPENDENT_SHARE = 1.5  # seconds of these for each second of a whole program, without a time limit
FIRST_SHARE = 0.4  # share of the time limit for these measurements before the first whole program
KEPT = 8  # programs with their ops, for predictions
RESERVE = 1.2  # the time kept for the last whole program, over the time of the one before


def propose(program: Program, model: CostModel, ends: float = math.inf, threads: int = 1) -> InitialTraces:
    """Yield traces of a program, most promising first; the caller sends the cost of each in seconds.

    In a program of many ops, the ops are measured independently before each trace. The trace has the
    fastest measured choice of each op.

    threads: the number of threads that share an op's outermost loop.
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
            trace = (*before, *trace_of(ops, candidate.sketches, threads))
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


def propose_for(session: Session, model: CostModel, threads: int = 1) -> InitialTraces:
    """Yield traces of the session's program, until the session ends; see `propose`."""
    text = session.observe("program")
    assert isinstance(text, str)
    return propose(Program("program", LANGUAGE, text.encode()), model, session.ends, threads)


@lru_cache(maxsize=KEPT)
def _ops_after(_digest: str, program: Program, before: Trace) -> dict[str, Op]:
    """Return the ops that sketches are for, after the actions that come before sketches."""
    session = open_program(program)
    session.replay(before)
    return {name: site.op for name, site in session.ops.by_name.items()}


def predicted_seconds(model: CostModel, session: Session) -> float:
    """Return the seconds that the model predicts for a state of a program's session.

    Raises:
        InputError: an action of the trace is in no sketch, such as `fuse`.
    """
    assert isinstance(session, ScheduleSession), "the model reads the ops, which a sandbox does not have"
    trace = of_sites(tuple(session.trace))
    before = tuple(text for text in trace if comes_before(text))
    ops = _ops_after(session.program.digest, session.program, before)
    after = tuple(text for text in trace if not comes_before(text))
    rows = features_of_trace(ops, after, host().vector_bytes // ELEMENT)
    return float(2.0 ** model.log2_seconds([rows])[0])


def load_for(path: Path, task: Task) -> SchedulePolicy:
    """Read a model as a policy for a task.

    Raises:
        InputError: the file is not such a model, or is for another task.
    """
    propose = partial(propose_for, threads=threads_of(task.options))
    return load_policy(path, task, COLUMNS, KIND, propose, predicted_seconds)
