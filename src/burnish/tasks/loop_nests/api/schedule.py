"""The schedule of a nest: a policy's first proposal, or the best of those that were measured."""

from __future__ import annotations

import itertools
import json
import math
import time
import warnings
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np

from burnish.core.decoding import decode
from burnish.core.errors import CompilerCrash, IllegalAction, InputError
from burnish.core.guide import GuideFor, InitialTraces, in_order
from burnish.core.program import Program
from burnish.core.trace import Trace, split_entry
from burnish.tasks.loop_nests.actions import CURSOR, apply
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.kernel import CompiledNest
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.session import NestSession, open_nest
from burnish.tasks.loop_nests.sketches import trace_of
from burnish.tasks.loop_nests.tree import Tree, naive
from burnish.tasks.tensors.machine import Machine, host
from burnish.workers.worker import Worker

AGAIN = 4  # fastest schedules that are measured again at the end, with the first one
AGAIN_SHARE = 0.2  # share of the time that is reserved for that, at most
CHOICES = 8  # proposals of a policy that are tried until one is right


@dataclass(frozen=True)
class Schedule:
    """A schedule whose results were compared with NumPy's."""

    trace: Trace  # entries at loops, in the order of application
    refine_seconds: float = 0.0  # seconds that were spent on measuring schedules
    seconds: float | None = None  # measured time of a call; None if it was not measured
    threads: int = 1  # threads of a call

    @property
    def machine(self) -> Machine:
        """The machine to generate code for: the host, with the schedule's threads."""
        return replace(host(), threads=self.threads)

    @property
    def text(self) -> str:
        """The schedule as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule from JSON, as in `text`.

        Raises:
            InputError: the text is not a schedule.
        """
        return decode(cls, text, "a schedule")


def follow(nest: Nest, trace: Trace) -> Tree:
    """Return the loop tree that a schedule's trace leads to.

    Raises:
        InputError: an entry is illegal.
    """
    tree = naive(nest)
    for entry in trace:
        site, action = split_entry(entry)
        place = tree.places.get(site)
        after = apply(tree, action, place) if place else None
        if after is None:
            raise InputError(f"{entry!r} is illegal for {nest.statements[0]}")
        tree = after
    return tree


def choose(nest: Nest, guide_for: GuideFor | None, threads: int = 1) -> tuple[Schedule, CompiledNest]:
    """Return a policy's first schedule whose results are NumPy's; the naive schedule if there is none.

    Warns:
        RuntimeWarning: the policy proposes no schedule that can be used.

    Raises:
        Miscompiled: the results of the naive schedule differ from NumPy's, too.
    """
    session = open_nest(nest.program(), threads)
    traces = guide_for(session).initial_traces if guide_for else in_order()
    reasons = []
    for trace in itertools.islice(traces, CHOICES):  # `next` sends no cost: the proposal before failed
        try:
            return _checked(session, trace)
        except (CompilerCrash, IllegalAction) as error:
            reasons.append(str(error))
    if guide_for:
        last = f"the last of {len(reasons)} proposals: {reasons[-1]}" if reasons else ""
        reason = last or "the policy proposes no schedule"
        warnings.warn(
            f"{nest.statements[0]}: no schedule of the policy can be used ({reason}). The loops "
            "keep their written order, which may be many times slower. Measure others with "
            "refine_seconds=10",
            RuntimeWarning,
            stacklevel=5,
        )
    return _checked(session, ())


def refine(nest: Nest, guide_for: GuideFor | None, seconds: float, threads: int = 1) -> Schedule | None:
    """Return the fastest of the schedules that a policy proposes; None if none was measured in time.

    Schedules are measured and compared with NumPy in a separate process, because they may crash or hang.
    Without a policy, they are drawn at random. The fastest few and the first are measured again, and only
    these times count, because the minimum of many noisy times is too low.
    """
    end = time.monotonic() + seconds
    program = nest.program()
    traces = guide_for(open_nest(program)).initial_traces if guide_for else _random(nest)
    found: dict[Trace, float] = {}
    again: dict[Trace, float] = {}
    cost: float | None = None
    longest = 0.0  # seconds for one schedule
    with closing(Worker()) as worker:
        while (left := end - time.monotonic()) > min((AGAIN + 1) * longest, AGAIN_SHARE * seconds):
            begin = time.monotonic()
            try:
                trace = traces.send(cost)
                cost, applied = worker.call(measure_trace, program, trace, threads, deadline_seconds=left)
            except StopIteration:
                break
            except (CompilerCrash, IllegalAction):
                cost = math.inf
                continue
            found.setdefault(applied, cost)
            longest = max(longest, time.monotonic() - begin)
        fastest = sorted(found, key=lambda one: found[one])[:AGAIN]
        for applied in dict.fromkeys([*itertools.islice(found, 1), *fastest]):  # the first: the policy's
            with suppress(CompilerCrash):
                left = end - time.monotonic()
                again[applied], _ = worker.call(
                    measure_trace, program, applied, threads, True, deadline_seconds=left
                )
    times = again or found
    best = min(times, key=lambda one: times[one], default=None)
    return None if best is None else Schedule(best, seconds, times[best], threads)


def measure_trace(program: Program, trace: Trace, threads: int, again: bool = False) -> tuple[float, Trace]:
    """Return the seconds of a call, and the trace to store; runs in a worker.

    The time of a schedule that was measured before is measured anew only with `again`.
    """
    session = _opened(program, threads).fork()
    _replay(session, trace)
    return session.seconds(again), _at_loops(session.trace)


@lru_cache(1)
def _opened(program: Program, threads: int) -> NestSession:
    return open_nest(program, threads)


def _random(nest: Nest) -> InitialTraces:
    rng = np.random.default_rng(0)
    while True:
        if found := trace_of(nest, draw(nest, host().vector_bytes, rng)):
            yield found[0]


def _checked(session: NestSession, trace: Trace) -> tuple[Schedule, CompiledNest]:
    state = session.fork()
    _replay(state, trace)
    compiled = CompiledNest(state.tree, state.shared.machine)
    state.shared.bench.check(compiled)
    return Schedule(_at_loops(state.trace), threads=state.shared.machine.threads), compiled


def _replay(session: NestSession, trace: Trace) -> None:
    """Apply a trace; with several threads, also make the outermost loops parallel where that is legal."""
    session.replay(trace)
    if session.shared.machine.threads > 1:
        parallel = session.index("parallel")
        for name, place in list(session.tree.places.items()):
            if len(place.path) == 1 and session.legal(name)[parallel]:
                session.apply(parallel, name)


def _at_loops(trace: Sequence[str]) -> Trace:
    """Return a session's trace without cursor moves, which change no loop."""
    return tuple(entry for entry in trace if split_entry(entry)[1] not in CURSOR)
