"""The evaluator of searches, from traces to costs: on all cores, every shared prefix once."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import methodcaller
from typing import TypeVar

from burnish.core.clock import WALL, Clock, ProcessorClock
from burnish.core.errors import BurnishError, CompilerCrash
from burnish.core.guide import StatePolicy
from burnish.core.session import Part, Session
from burnish.core.trace import Trace, split_entry
from burnish.core.view import Observed
from burnish.search.prefix_tree import Ask
from burnish.search.problem import Problem
from burnish.search.reached import evaluate_traces, look_at, take_parts
from burnish.search.site_alone import at_site, evaluate_alone, moved
from burnish.search.space import NOT_TRIED, Batch, Evaluation
from burnish.workers.worker import Worker, wait

CHUNK = 6  # traces that a worker gets at a time: enough to share prefixes, few enough to balance
GRACE_SECONDS = 1.0  # beyond the end of a batch of sites alone: a worker that is killed has to begin anew


T = TypeVar("T")
_Key = tuple[Trace, bool, bool, bool, bool, bool, int | None]


class BudgetSpent(BurnishError):
    """The search's budget is used up."""


class Evaluator:
    """Evaluates batches of traces on worker processes and keeps what it has seen.

    What a trace costs does not depend on how many workers there are or what they did before.

    Attributes:
        trials: Traces that were evaluated, of whole programs and of sites alone.
        illegal: Entries of those that were illegal where they came, and so left out.
        policy: Whose predictions batches may ask for.
    """

    def __init__(self, problem: Problem, *, workers: int | None, clock: Clock = WALL) -> None:
        """Start the worker processes, by default one for each core; the clock says when batches end."""
        self.trials = 0
        self.crashes = 0
        self.illegal = 0
        self._spent = Fraction(0)  # evaluations; a site alone, of n, is 1/n of one
        self.policy: StatePolicy | None = None
        self._setup = (problem.task.open, problem.program, problem.goal)
        self._known: dict[_Key, Evaluation] = {}
        self._begins: dict[tuple[Trace, str], float] = {}  # what sites cost alone after a trace
        self._parts: dict[Trace, dict[str, tuple[Part, str]]] = {}  # after a trace, with identities
        self.workers = [Worker(problem.limits) for _ in range(workers or os.cpu_count() or 1)]
        self._deadline_seconds = problem.limits.deadline_seconds
        self._clock = clock
        for worker in self.workers:
            worker.clock = clock
            if isinstance(clock, ProcessorClock):
                worker.spin_seconds = 0.0  # to look again and again would be paid for

    @property
    def evaluations(self) -> int:
        """How many evaluations were made; sites alone count together."""
        return int(self._spent)

    def now(self) -> float:
        """Return the time by the clock."""
        return self._clock.now(worker.pid for worker in self.workers if worker.pid)

    def evaluate(self, batch: Batch, *, most: int | None, end: float | None) -> Iterator[Evaluation]:
        """Yield what evaluating each distinct new trace gave, as it comes; `known` has them all then.

        Where there is an `end`, what is cheaper than all before also comes before its trace is done: the rest
        of the trace may take too long. Of sites alone nothing is yielded: it says nothing of the program.

        Args:
            batch: The traces.
            most: Evaluate only so many of the new ones, the first of the batch.
            end: When to give up, by the clock.

        Raises:
            BudgetSpent: `most` or `end` cut the batch short, and it is neither partial nor of sites alone.
        """
        if batch.alone is not None:
            self._evaluate_alone(batch, batch.alone, most, end)
            return
        new = [trace for trace in dict.fromkeys(batch.traces) if _key(trace, batch) not in self._known]
        kept = new if most is None else new[: max(0, most)]
        chunks = self._chunks(kept, batch, end is not None)
        for evaluation, trace in self._run(chunks, end, soft=batch.partial):
            if trace is not None:
                self._known[_key(trace, batch)] = evaluation
                self.trials += 1
                self.illegal += evaluation.illegal
                self._spent += 1
            yield evaluation
        if len(kept) < len(new) and not batch.partial:
            raise BudgetSpent
        if batch.predict:
            self._predict([_key(trace, batch) for trace in kept])

    def known(self, batch: Batch) -> list[Evaluation]:
        """Return the evaluations of a batch that was evaluated, in its order."""
        if batch.alone is None and not batch.partial:
            return [self._known[_key(trace, batch)] for trace in batch.traces]
        return [
            self._known.get(_key(trace, batch)) or Evaluation(trace, math.inf, trace, NOT_TRIED)
            for trace in batch.traces
        ]

    def observe(self, trace: Trace, space: str) -> Observed:
        """Return an observation of the state after a trace, which the compiler has checked.

        Raises:
            CompilerCrash: it does not survive that.
        """
        observed: Observed = self.look(trace, methodcaller("observe", space))
        return observed

    def look(self, trace: Trace, look: Callable[[Session], T]) -> T:
        """Return what a function, which is sent to a worker, sees in that state.

        Raises:
            CompilerCrash: see `observe`.
        """
        opener, program, _ = self._setup
        seen: T = self.workers[0].call(look_at, opener, program, trace, look)
        return seen

    def close(self) -> None:
        """End the workers."""
        for worker in self.workers:
            worker.close()

    def _evaluate_alone(self, batch: Batch, before: int, most: int | None, end: float | None) -> None:
        """Evaluate what is new of a batch of sites alone, equal sites once, while there is a budget for it.

        One evaluation is left: what is joined has to be measured.
        """
        parts = self._parts_after(batch.traces[0][:before], end)
        if not parts:
            return
        left = math.inf if most is None else len(parts) * (most - 1 - self._spent % 1)
        first: dict[str, str] = {}  # site, by identity
        equal: dict[Trace, list[Trace]] = {}  # by the trace that is tried for all
        for trace in dict.fromkeys(batch.traces):
            site = split_entry(trace[before])[0]
            if site not in parts:
                self._known[_key(trace, batch)] = Evaluation(trace, math.inf, trace, "not to be had alone")
            elif _key(trace, batch) not in self._known:
                one = first.setdefault(parts[site][1] or site, site)
                equal.setdefault(at_site(trace, before, one), []).append(trace)
        chunks: dict[str, _Chunk] = {}
        for trace in list(equal)[: max(0, int(left)) if left < math.inf else None]:
            site = split_entry(trace[before])[0]
            begin = self._begins.get((trace[:before], site))
            call = partial(evaluate_alone, parts[site][0], self._setup[2], before, begin)
            chunks.setdefault(site, _Chunk(call, [])).traces.append(trace)
        for evaluation, tried in self._run(deque(chunks.values()), end, soft=True):
            assert tried is not None
            self.trials += 1
            self._spent += Fraction(1, len(parts))
            for site, cost in evaluation.site_costs.items():
                self._begins[tried[:before], site] = cost - evaluation.cost
            for trace in equal[tried]:
                site = split_entry(trace[before])[0]
                self._known[_key(trace, batch)] = moved(evaluation, before, site)

    def _parts_after(self, trace: Trace, end: float | None) -> dict[str, tuple[Part, str]]:
        """Return each site alone as it is after a trace, with its identity."""
        if trace in self._parts:
            return self._parts[trace]
        found: dict[str, tuple[Part, str]] = {}
        if end is not None and end <= self.now():  # a worker that is cut short has to begin anew
            return found
        worker = self.workers[0]  # which evaluates what comes alone, and has the state
        worker.until = math.inf if end is None else end
        try:
            for part, identity in worker.stream(take_parts, *self._setup, trace):
                found[part.site] = part, identity
        except CompilerCrash:
            self.crashes += 1
        finally:
            worker.until = math.inf
        self._parts[trace] = found
        return found

    def _predict(self, keys: Sequence[_Key]) -> None:
        """Put predictions in the place of the states, which may be large, of what was evaluated."""
        seen = [(key, state) for key in keys if (state := self._known[key].state)]
        if not seen or not self.policy:
            return
        predictions = self.policy.predict([state for _, state in seen])
        for (key, _), prediction in zip(seen, predictions, strict=True):
            self._known[key] = replace(self._known[key], state=None, prediction=prediction)

    def _chunks(self, traces: Sequence[Trace], batch: Batch, early: bool) -> deque[_Chunk]:
        look: tuple[str, ...] | None = None
        if batch.predict:
            look = self.policy.observations if self.policy else ()
        ordered = list(traces) if batch.partial else sorted(traces)  # neighbours share prefixes
        size = 1 if batch.partial else min(CHUNK, -(-len(ordered) // len(self.workers))) or 1
        places = self.policy.sites if self.policy else None
        ask = Ask(batch.site_costs, batch.legal, batch.otherwise, look, places, batch.digest)
        call = partial(evaluate_traces, *self._setup, ask=ask, early=early)
        return deque(_Chunk(call, ordered[i : i + size]) for i in range(0, len(ordered), size))

    def _run(
        self, chunks: deque[_Chunk], end: float | None, *, soft: bool = False
    ) -> Iterator[tuple[Evaluation, Trace | None]]:
        """Yield evaluations, each with its trace; with None before the end of the trace.

        At the end all workers are killed; a `soft` one waits for what they have begun, if anything. After it
        nothing is begun.
        """
        if chunks and end is not None and self.now() >= end:
            if soft:
                return
            raise BudgetSpent
        running: dict[Worker, _Chunk] = {}
        heard: dict[Worker, float] = {}
        while chunks or running:
            for worker in self.workers:
                if chunks and worker not in running:
                    chunk = chunks.popleft()
                    worker.send(chunk.call, chunk.traces)
                    running[worker] = _Chunk(chunk.call, list(chunk.traces))
                    heard[worker] = time.monotonic()
            for worker in wait(list(running), self._patience(heard, running, end)):
                heard[worker] = time.monotonic()
                yield from self._collect(worker, running, chunks)
            now = self.now() if end is not None else 0.0
            if soft and end is not None and now >= end:
                chunks.clear()
                end += GRACE_SECONDS
                soft = False
            elif end is not None and now >= end and (chunks or running):
                for worker in running:
                    worker.close()
                raise BudgetSpent
            for worker in [w for w in running if time.monotonic() - heard[w] > self._deadline_seconds]:
                worker.close()
                error = f"no answer within {self._deadline_seconds:g} seconds"
                yield from self._crashed(error, running.pop(worker), chunks)

    def _collect(
        self, worker: Worker, running: dict[Worker, _Chunk], chunks: deque[_Chunk]
    ) -> Iterator[tuple[Evaluation, Trace | None]]:
        try:
            more, answer = worker.receive()
        except CompilerCrash as error:
            yield from self._crashed(str(error), running.pop(worker), chunks)
            return
        if more:
            evaluation, whole = answer
            yield evaluation, running[worker].traces.pop(0) if whole else None
        else:
            del running[worker]

    def _crashed(
        self, error: str, unanswered: _Chunk, chunks: deque[_Chunk]
    ) -> Iterator[tuple[Evaluation, Trace]]:
        """Blame the trace that was being evaluated, and give the others of its chunk to the next worker."""
        self.crashes += 1
        if not unanswered.traces:  # it died after its last answer
            return
        trace, *others = unanswered.traces
        if others:
            chunks.appendleft(_Chunk(unanswered.call, others))
        yield Evaluation(trace, math.inf, trace, error), trace

    def _patience(
        self, heard: dict[Worker, float], running: dict[Worker, _Chunk], end: float | None
    ) -> float:
        next_deadline = min(heard[worker] for worker in running) + self._deadline_seconds
        left = math.inf if end is None else end - self.now()
        return max(0.0, min(next_deadline - time.monotonic(), left))


@dataclass(frozen=True)
class _Chunk:
    """Traces for a worker, and what it does with them."""

    call: Callable[[Sequence[Trace]], Iterator[tuple[Evaluation, bool]]]
    traces: list[Trace]


def _key(trace: Trace, batch: Batch) -> _Key:
    return trace, batch.site_costs, batch.legal, batch.otherwise, batch.digest, batch.predict, batch.alone
