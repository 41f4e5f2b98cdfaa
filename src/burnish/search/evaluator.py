"""The evaluator of traces for searches: it uses all cores, and applies each shared prefix once."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import methodcaller
from typing import Generic, TypeVar

from burnish.core.clock import WALL, Clock, ProcessorClock
from burnish.core.errors import BurnishError, CompilerCrash
from burnish.core.guide import StatePolicy
from burnish.core.session import Part, Session
from burnish.core.trace import Trace
from burnish.core.view import Observed
from burnish.search.prefix_tree import (
    NO_POLICY,
    PolicyInputs,
    evaluate_at_site,
    evaluate_traces,
    look_at,
    take_parts,
)
from burnish.search.problem import Problem
from burnish.search.space import NOT_TRIED, Ask, Batch, Evaluation, SiteTrials, Trial
from burnish.workers.worker import Worker, wait

CHUNK = 6  # traces sent to a worker at a time: enough to share prefixes, few enough to balance the load
GRACE_SECONDS = 1.0  # after the end of partial batches and site trials: a killed worker must start again


Tried = TypeVar("Tried", bound=Trace | Trial)
T = TypeVar("T")


class BudgetSpent(BurnishError):
    """The search's budget is used up."""


class Evaluator:
    """Evaluates batches of traces in worker processes, and caches the evaluations.

    The cost of a trace does not depend on the number of workers or on their earlier work.

    Attributes:
        trials: The number of evaluated traces of the program, and of suffixes at isolated sites.
        grace_seconds: The most time after the end of a batch, for site trials and partial batches.
        illegal: The number of entries left out of the program's traces because they were illegal there.
        policy: The policy whose predictions a batch may ask for (Ask.PREDICTION).
    """

    def __init__(self, problem: Problem, *, workers: int | None, clock: Clock = WALL) -> None:
        """Start the worker processes, by default one per core; the ends of batches are times of `clock`."""
        self.trials = 0
        self.crashes = 0
        self.illegal = 0
        self._spent = Fraction(0)  # evaluations; a trial at one of n isolated sites counts as 1/n
        self.grace_seconds = GRACE_SECONDS
        self.policy: StatePolicy | None = None
        self._setup = (problem.task.open, problem.program, problem.goal)
        self._known: dict[tuple[Trace, Ask], Evaluation] = {}
        self._at_sites: dict[tuple[Trace, Trial], Evaluation] = {}  # by the trace before, and the trial
        self._begins: dict[tuple[Trace, str], float] = {}  # the costs of isolated sites after a trace
        self._parts: dict[Trace, dict[str, tuple[Part, str]]] = {}  # after a trace: sites with identities
        self.workers = [Worker(problem.limits) for _ in range(workers or os.cpu_count() or 1)]
        self._deadline_seconds = problem.limits.deadline_seconds
        self._clock = clock
        for worker in self.workers:
            worker.clock = clock
            if isinstance(clock, ProcessorClock):
                worker.spin_seconds = 0.0  # busy-waiting would count as processor time

    @property
    def evaluations(self) -> int:
        """The number of evaluations; one trial at each isolated site counts as one evaluation."""
        return int(self._spent)

    def now(self) -> float:
        """Return the clock's time in seconds."""
        return self._clock.now(worker.pid for worker in self.workers if worker.pid)

    def evaluate(
        self, batch: Batch | SiteTrials, *, most: int | None, end: float | None
    ) -> Iterator[Evaluation]:
        """Yield the evaluation of each distinct new trace as it arrives; then `known` returns the batch's.

        With `end`, states cheaper than all before are also yielded before their trace is finished, because
        the rest of the trace may take too long. Trials at isolated sites yield nothing: they do not give the
        program's cost.

        Args:
            batch: The traces or trials.
            most: The number of evaluations left: of more new traces, only the first ones are evaluated.
            end: The clock's time at which to give up.

        Raises:
            BudgetSpent: `most` or `end` cuts the batch short. A partial batch or site trials raise it only if
                work that has begun takes more than the grace beyond `end`.
        """
        if isinstance(batch, SiteTrials):
            self._evaluate_sites(batch, most, end)
            return
        new = [trace for trace in dict.fromkeys(batch.traces) if (trace, batch.ask) not in self._known]
        kept = new if most is None else new[: max(0, most)]
        chunks = self._chunks(kept, batch, end is not None)
        for evaluation, trace in self._run(chunks, end, soft=batch.partial):
            if trace is not None:
                self._known[trace, batch.ask] = evaluation
                self.trials += 1
                self.illegal += evaluation.illegal
                self._spent += 1
            yield evaluation
        if len(kept) < len(new) and not batch.partial:
            raise BudgetSpent
        if Ask.PREDICTION in batch.ask:
            self._predict([(trace, batch.ask) for trace in kept])

    def known(self, batch: Batch | SiteTrials) -> list[Evaluation]:
        """Return the evaluations of a finished batch, in the batch's order."""
        if isinstance(batch, SiteTrials):
            return [
                self._at_sites.get((batch.base, trial)) or Evaluation(trial.suffix, math.inf, error=NOT_TRIED)
                for trial in batch.trials
            ]
        if not batch.partial:
            return [self._known[trace, batch.ask] for trace in batch.traces]
        return [
            self._known.get((trace, batch.ask)) or Evaluation(trace, math.inf, trace, NOT_TRIED)
            for trace in batch.traces
        ]

    def observe(self, trace: Trace, space: str) -> Observed:
        """Return an observation of the state after a trace; the compiler verifies the state first.

        Raises:
            CompilerCrash: the state is broken, or the compiler crashes.
        """
        observed: Observed = self.look(trace, methodcaller("observe", space))
        return observed

    def look(self, trace: Trace, look: Callable[[Session], T]) -> T:
        """Send `look` to a worker, and return its result for a session in the state after a trace.

        Raises:
            CompilerCrash: see `observe`.
        """
        opener, program, _ = self._setup
        seen: T = self.workers[0].call(look_at, opener, program, trace, look)
        return seen

    def close(self) -> None:
        """End the worker processes."""
        for worker in self.workers:
            worker.close()

    def _evaluate_sites(self, batch: SiteTrials, most: int | None, end: float | None) -> None:
        """Evaluate the new trials within the budget; equal sites share one evaluation.

        One evaluation is left for the trace that joins the best trials.
        """
        parts = self._parts_after(batch.base, end)
        if not parts:
            return
        left = math.inf if most is None else len(parts) * (most - 1 - self._spent % 1)
        first: dict[str, str] = {}  # the first site with each identity
        equal: dict[Trial, list[Trial]] = {}  # by the one trial that is evaluated for all of its list
        for trial in dict.fromkeys(batch.trials):
            if trial.site not in parts:
                error = "the site cannot be isolated"
                self._at_sites[batch.base, trial] = Evaluation(trial.suffix, math.inf, error=error)
            elif (batch.base, trial) not in self._at_sites:
                one = first.setdefault(parts[trial.site][1] or trial.site, trial.site)
                equal.setdefault(Trial(one, trial.suffix), []).append(trial)
        chunks: dict[str, _Chunk[Trial]] = {}
        for trial in list(equal)[: max(0, int(left)) if left < math.inf else None]:
            begin = self._begins.get((batch.base, trial.site))
            call = partial(evaluate_at_site, parts[trial.site][0], self._setup[2], begin)
            chunks.setdefault(trial.site, _Chunk(call, [])).items.append(trial)
        for evaluation, tried in self._run(deque(chunks.values()), end, soft=True):
            assert tried is not None
            self.trials += 1
            self._spent += Fraction(1, len(parts))
            for site, cost in evaluation.site_costs.items():
                self._begins[batch.base, site] = cost - evaluation.cost
            self._at_sites |= {(batch.base, trial): evaluation for trial in equal[tried]}

    def _parts_after(self, trace: Trace, end: float | None) -> dict[str, tuple[Part, str]]:
        """Return the isolated sites in the state after a trace, with their identities, by name."""
        if trace in self._parts:
            return self._parts[trace]
        found: dict[str, tuple[Part, str]] = {}
        if end is not None and end <= self.now():  # a worker that is cut off must start again
            return found
        worker = self.workers[0]  # evaluates single traces, so its cache has the state
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

    def _predict(self, keys: Sequence[tuple[Trace, Ask]]) -> None:
        """Replace the states in evaluations, which may be large, by the policy's predictions."""
        seen = [(key, state) for key in keys if (state := self._known[key].state)]
        if not seen or not self.policy:
            return
        predictions = self.policy.predict([state for _, state in seen])
        for (key, _), prediction in zip(seen, predictions, strict=True):
            self._known[key] = replace(self._known[key], state=None, prediction=prediction)

    def _chunks(self, traces: Sequence[Trace], batch: Batch, early: bool) -> deque[_Chunk[Trace]]:
        inputs = PolicyInputs(self.policy.observations, self.policy.sites) if self.policy else NO_POLICY
        ordered = list(traces) if batch.partial else sorted(traces)  # neighbours share prefixes
        size = 1 if batch.partial else min(CHUNK, -(-len(ordered) // len(self.workers))) or 1
        call = partial(evaluate_traces, *self._setup, ask=batch.ask, inputs=inputs, early=early)
        return deque(_Chunk(call, ordered[i : i + size]) for i in range(0, len(ordered), size))

    def _run(
        self, chunks: deque[_Chunk[Tried]], end: float | None, *, soft: bool = False
    ) -> Iterator[tuple[Evaluation, Tried | None]]:
        """Yield evaluations, each with its trace or trial; with None for a state before the end of a trace.

        At `end`, all running workers are killed and BudgetSpent is raised. With `soft`, they first get
        the grace to finish the chunks that they have begun. After `end`, no chunk begins.
        """
        if chunks and end is not None and self.now() >= end:
            if soft:
                return
            raise BudgetSpent
        running: dict[Worker, _Chunk[Tried]] = {}
        heard: dict[Worker, float] = {}
        while chunks or running:
            for worker in self.workers:
                if chunks and worker not in running:
                    chunk = chunks.popleft()
                    worker.send(chunk.call, chunk.items)
                    running[worker] = _Chunk(chunk.call, list(chunk.items))
                    heard[worker] = time.monotonic()
            for worker in wait(list(running), self._patience(heard, running, end)):
                heard[worker] = time.monotonic()
                yield from self._collect(worker, running, chunks)
            now = self.now() if end is not None else 0.0
            if soft and end is not None and now >= end:
                chunks.clear()
                end += self.grace_seconds
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
        self, worker: Worker, running: dict[Worker, _Chunk[Tried]], chunks: deque[_Chunk[Tried]]
    ) -> Iterator[tuple[Evaluation, Tried | None]]:
        try:
            more, answer = worker.receive()
        except CompilerCrash as error:
            yield from self._crashed(str(error), running.pop(worker), chunks)
            return
        if more:
            evaluation, whole = answer
            yield evaluation, running[worker].items.pop(0) if whole else None
        else:
            del running[worker]

    def _crashed(
        self, error: str, unanswered: _Chunk[Tried], chunks: deque[_Chunk[Tried]]
    ) -> Iterator[tuple[Evaluation, Tried]]:
        """Yield a failed evaluation of the first unanswered item; put the others back for another worker."""
        self.crashes += 1
        if not unanswered.items:  # the worker died after its last answer
            return
        item, *others = unanswered.items
        if others:
            chunks.appendleft(_Chunk(unanswered.call, others))
        trace = item.suffix if isinstance(item, Trial) else item
        yield Evaluation(trace, math.inf, trace, error), item

    def _patience(
        self, heard: dict[Worker, float], running: Mapping[Worker, object], end: float | None
    ) -> float:
        next_deadline = min(heard[worker] for worker in running) + self._deadline_seconds
        left = math.inf if end is None else end - self.now()
        return max(0.0, min(next_deadline - time.monotonic(), left))


@dataclass(frozen=True)
class _Chunk(Generic[Tried]):
    """Traces, or trials at one site, for one worker, and the function that evaluates them there."""

    call: Callable[[Sequence[Tried]], Iterator[tuple[Evaluation, bool]]]
    items: list[Tried]
