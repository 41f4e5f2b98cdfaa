"""Networks op by op: ops that are alike are scheduled once, as a program of one of them.

A network takes seconds to compile and to compare, one of its ops a tenth of a second. So the ops are
measured apart, those with much time more often, and the next whole program has the fastest of each. As in
Ansor's task scheduler (Zheng et al. 2020, arXiv:2006.06762, section 6), a task is a distinct op, weighed by
how often it is there. Weights are in no cache when an op is called, as in a network that is larger than that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType

from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.program import Program
from burnish.tasks.mlir_schedules.parts import OpPart, part
from burnish.tasks.mlir_schedules.policy.measured_sketches import measure_trace
from burnish.tasks.mlir_schedules.policy.op_search import NEGLECTED, OpSearch, SketchChoice
from burnish.tasks.mlir_schedules.programs import program
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program
from burnish.tasks.mlir_schedules.sketches import trace_of
from burnish.workers.worker import GIB, Limits, Worker

LIMITS = Limits(deadline_seconds=30.0, memory_bytes=8 * GIB)


@dataclass
class IndependentOp:
    """Ops of a program that are alike, as a program of one."""

    program: Program
    cold: tuple[int, ...]  # arguments of it that are in no cache when it is called
    name: str  # of the op, in that program
    sites: list[str]  # in the other one
    search: OpSearch
    seconds: float  # of one: what was measured, before that what the model expects
    tries: int = 0
    fastest: SketchChoice | None = None  # that was measured
    is_over: bool = False

    @property
    def weight(self) -> float:
        """The seconds of all ops like it."""
        return len(self.sites) * self.seconds

    def measure(self, worker: Worker) -> None:
        """Measure the next candidate."""
        candidate = self.search.next()
        if candidate is None:
            self.is_over = True
            return
        self.tries += 1
        try:
            trace = trace_of(self.search.ops, candidate.sketches)
            seconds = worker.call(measure_trace, self.program, trace, self.cold)
        except (CompilerCrash, IllegalAction):
            return
        self.search.measured(candidate, seconds)
        if self.fastest is None or seconds < self.seconds:
            self.seconds, self.fastest = seconds, candidate.choices[self.name]


class IndependentOps:
    """All ops of a program, to be measured one at a time in a process of their own."""

    def __init__(self, session: ScheduleSession, search: OpSearch) -> None:
        """Take the program with its ops, and a search whose pools are taken."""
        parts: dict[OpPart, list[str]] = {}
        for site in search.ops:
            parts.setdefault(part(session.payload, site), []).append(site)
        self.ops = [_apart(one, sites, search) for one, sites in parts.items()]
        least = NEGLECTED * sum(one.weight for one in self.ops)
        self.ops = [one for one in self.ops if one.weight > least]
        self._worker = Worker(LIMITS)

    def __enter__(self) -> IndependentOps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.close()

    def measure(self, seconds: float) -> None:
        """Measure for so long, or to the end: first what has much time and few measurements."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and (left := [one for one in self.ops if not one.is_over]):
            max(left, key=lambda one: one.weight / (1 + one.tries)).measure(self._worker)

    def fastest(self) -> Mapping[str, SketchChoice]:
        """Return what is fastest for each op that was measured, by site."""
        return {site: one.fastest for one in self.ops if one.fastest for site in one.sites}


def _apart(one: OpPart, sites: list[str], search: OpSearch) -> IndependentOp:
    """Return ops as a program of one."""
    site = sites[0]
    alone = program(one.text, site)
    name = open_program(alone).ops.last
    pool = search.pools[site]
    op = replace(search.ops[site], site=name)
    of_one = OpSearch({name: op}, search.model, {name: pool})
    return IndependentOp(alone, one.cold, name, sites, of_one, pool[0].predicted)
