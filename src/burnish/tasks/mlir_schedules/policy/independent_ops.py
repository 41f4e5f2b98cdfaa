"""The schedules of networks, op by op: equal ops are scheduled once, as a program of one op.

A network takes seconds to compile and to compare; one of its ops takes a tenth of a second. So ops are
measured independently, slow ones more often, and the next whole program has the fastest schedule of each.
As in Ansor's task scheduler (Zheng et al. 2020, arXiv:2006.06762, section 6), a task is a distinct op,
weighted by its number of occurrences. A network's weights are in no cache when one of its ops is called, as
in a network that is larger than the cache.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from burnish.core.errors import CompilerCrash, IllegalAction
from burnish.core.program import Program
from burnish.core.trace import Trace, split_entry
from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.ops import PASSED, find, read_from_outside
from burnish.tasks.mlir_schedules.payload import SITE, Payload
from burnish.tasks.mlir_schedules.policy.op_search import NEGLECTED, OpSearch, SketchChoice
from burnish.tasks.mlir_schedules.programs import program
from burnish.tasks.mlir_schedules.reading import MAIN
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program
from burnish.tasks.mlir_schedules.sketches import trace_of
from burnish.workers.worker import GIB, Limits, Worker

LIMITS = Limits(deadline_seconds=30.0, memory_bytes=8 * GIB)
OPEN = 32  # programs that a process keeps open, with their arrays


@dataclass
class IndependentOp:
    """Equal ops of a program, as a program of one op."""

    program: Program
    cold: tuple[int, ...]  # indices of its arguments that are in no cache before a call
    name: str  # of the op, in the program of one op
    sites: list[str]  # of the equal ops, in the whole program
    search: OpSearch
    seconds: float  # of a call: the least measured time, at first the model's prediction
    tries: int = 0
    fastest: SketchChoice | None = None  # of the measured ones
    is_over: bool = False

    @property
    def weight(self) -> float:
        """The seconds of all the equal ops together."""
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
    """The distinct ops of a program, measured one at a time in a separate process."""

    def __init__(self, session: ScheduleSession, search: OpSearch) -> None:
        """Take a session of the whole program, and the search that has its ops and their pools."""
        parts: dict[OpPart, list[str]] = {}
        for site in search.ops:
            parts.setdefault(part(session.payload, site), []).append(site)
        self.ops = [_independent(one, sites, search) for one, sites in parts.items()]
        least = NEGLECTED * sum(one.weight for one in self.ops)
        self.ops = [one for one in self.ops if one.weight > least]
        self._worker = Worker(LIMITS)

    def close(self) -> None:
        """End the process."""
        self._worker.close()

    def measure(self, seconds: float) -> None:
        """Measure until the time is over or no candidates are left; slow ops with few tries come first."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and (left := [one for one in self.ops if not one.is_over]):
            max(left, key=lambda one: one.weight / (1 + one.tries)).measure(self._worker)

    def fastest(self) -> Mapping[str, SketchChoice]:
        """Return the fastest measured choice of each op, by site."""
        return {site: one.fastest for one in self.ops if one.fastest for site in one.sites}


def _independent(one: OpPart, sites: list[str], search: OpSearch) -> IndependentOp:
    """Return equal ops as a program of one op."""
    site = sites[0]
    alone = program(one.text, site)
    name = open_program(alone).ops.last
    pool = search.pools[site]
    op = replace(search.ops[site], site=name)
    of_one = OpSearch({name: op}, search.model, {name: pool})
    return IndependentOp(alone, one.cold, name, sites, of_one, pool[0].predicted)


def measure_trace(program: Program, trace: Trace, cold: Sequence[int] = ()) -> float:
    """Return the seconds of a call of a schedule, after a comparison with NumPy.

    cold: the indices of inputs that are in no cache before a call.

    Raises:
        IllegalAction, CompilerCrash: the schedule is illegal, or it cannot be compiled and measured.
    """
    session = _opened(program.digest, program).fork()
    for text in trace:
        site, action = split_entry(text)
        session.apply(session.index(action), site)
    if cold:
        seconds = session.compiled().cold_seconds(session.shared.trial.arrays, cold)
    else:
        seconds = session.measure("seconds")
    if not math.isfinite(seconds):
        raise CompilerCrash(f"{program.name}: a call takes {seconds} seconds")
    return seconds


@lru_cache(maxsize=OPEN)
def _opened(_digest: str, program: Program) -> ScheduleSession:
    return open_program(program)


COPIED = ("arith.constant", "tensor.empty", "linalg.fill")
"""Ops that are copied along with an op that reads them: they have the same value everywhere."""

GIVEN = ("bufferization.to_tensor", *PASSED)  # ops between an argument and the op that reads it


@dataclass(frozen=True)
class OpPart:
    """A program of one op; equal ops have equal programs."""

    text: str  # its last op is the op itself; values that other ops compute for it are arguments
    cold: tuple[int, ...]  # arguments that are arguments of the whole program: like weights, not in a cache


def part(payload: Payload, site: str) -> OpPart:
    """Return the program of the op at a site."""
    ir = bindings.bindings("ir")
    op = find(payload.module, site)
    given = _given(op)
    results = [result.type for result in op.results]
    with bindings.context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            kind = ir.FunctionType.get([value.type for value in given], results)
            function = bindings.bindings("dialects.func").FuncOp(MAIN, kind)
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            known = dict(zip(given, block.arguments, strict=True))
            made = _copy(op, known)
            bindings.bindings("dialects.func").ReturnOp(list(made.results))
    return OpPart(str(module), tuple(i for i, value in enumerate(given) if _is_argument(value)))


def _given(op: Any) -> list[Any]:
    """Return the values that an op, and the ops copied with it, read from outside; each once."""
    found: list[Any] = []
    for value in read_from_outside(op):
        inner = _given(_owner(value)) if _is_copied(value) else [value]
        found += [one for one in inner if one not in found]
    return found


def _copy(op: Any, known: dict[Any, Any]) -> Any:
    """Append a copy of an op, after copies of the ops that belong to it; `known` maps values to new ones."""
    ir = bindings.bindings("ir")
    for value in read_from_outside(op):
        if value not in known:
            known[value] = _copy(_owner(value), known).results[ir.OpResult(value).result_number]
    copy = op.clone().operation
    if SITE in copy.attributes:
        del copy.attributes[SITE]

    def redirect(one: Any) -> Any:
        for number, value in enumerate(one.operands):
            if value in known:
                one.operands[number] = known[value]
        return ir.WalkResult.ADVANCE

    copy.walk(redirect)
    return copy


def _is_argument(value: Any) -> bool:
    """Return whether a value is an argument of the program, perhaps reshaped."""
    while not isinstance(value.owner, bindings.bindings("ir").Block):
        if _owner(value).name not in GIVEN:
            return False
        value = _owner(value).operands[0]
    return True


def _is_copied(value: Any) -> bool:
    owner = value.owner
    return not isinstance(owner, bindings.bindings("ir").Block) and owner.operation.name in COPIED


def _owner(value: Any) -> Any:
    return value.owner.operation
