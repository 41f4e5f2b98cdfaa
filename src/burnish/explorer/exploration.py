"""Explorations: the known states of one program, and the actions that lead from one to another.

The address of a state is a trace that leads to the state. States with equal digests are one state, so a
state may have several edges that lead to it. No compiler runs in this process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from burnish.core.errors import BurnishError, CompilerCrash, IllegalAction, InputError, NotMeasurable
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.reduce import Reduced
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, Trace, entry
from burnish.core.view import Observed
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.explain import minimize_trace
from burnish.evaluation.states import KEPT, States
from burnish.evaluation.validate import Scrutiny, Validation, validate
from burnish.search import DEFAULT, Budget, Progress, search
from burnish.search.memory import Memory
from burnish.search.problem import Problem
from burnish.search.space import Evaluation
from burnish.workers.worker import Limits, Worker

GROWN = 12  # most traces of a search that become states: each is replayed, so more would take long
TEXTS = 12  # most texts that are kept: of a large module, a text has several megabytes
ARRAYS = 500  # most observations along traces that are kept, each of a few hundred numbers
ALONG_SECONDS = 2.0  # for the observations along a trace
SITE_COSTS = 200  # most tables of sites' costs that are kept
METHOD = "explorer"  # the method in results of explorations


@dataclass(frozen=True)
class State:
    """One state of the program."""

    digest: str  # where the compiler asks, of the question, too
    trace: Trace  # the first known trace to it


@dataclass(frozen=True)
class Edge:
    """One action in one state, and its effect."""

    source: str  # digest of the state before it
    entry: str
    target: str | None  # digest of the state after it; None: the compiler failed
    seconds: float
    error: str = ""  # the compiler's failure: crash, timeout or memory

    @property
    def idle(self) -> bool:
        """True if the action changed nothing."""
        return self.source == self.target


@dataclass(frozen=True)
class LegalAction:
    """An action that is legal in a state."""

    index: int  # into Task.actions
    entry: str  # of the trace, with the site
    site: str  # "" for the whole program


class Exploration(AbstractContextManager["Exploration"]):
    """The tree of known states of one program in one task.

    At most `live` states are open at a time, all in one worker process; the others are replayed when they
    are needed. A failure of the compiler is an edge without a target, and all else continues. Threads may
    share an exploration: a lock orders their calls, and a search holds the lock only at its end.
    """

    def __init__(
        self,
        task: Task,
        program: Program,
        objectives: Sequence[str] = (),
        *,
        limits: Limits = Limits(),
        live: int = KEPT,
    ) -> None:
        """Open the program; `objectives` are those to show, by default the task's exact ones.

        Raises:
            ProgramError: the program cannot be read.
            UnknownName: the task has no such objective.
            InputError: the program is in another language.
        """
        if program.language != task.language:
            raise InputError(f"{program.name}: {task.id} opens {task.language!r}, not {program.language!r}")
        self.task, self.program, self.limits = task, program, limits
        self.objectives = tuple(task.objective(name).name for name in objectives or task.exact_objectives)
        self.states: dict[str, State] = {}  # by digest, in the order of their discovery
        self.edges: dict[tuple[str, str], Edge] = {}  # by the state before, and the entry
        self._lock = threading.RLock()
        self._costs: dict[tuple[str, str], float] = {}  # by state and exact objective
        self._observed: Recent[tuple[str, str], str] = Recent(TEXTS)  # texts, by state and observation
        self._arrays: Recent[tuple[str, str], Observed] = Recent(ARRAYS)  # the same, of numbers
        self._site_costs: Recent[tuple[str, str], Mapping[str, float]]  # by state and objective
        self._site_costs = Recent(SITE_COSTS)
        self._measuring = threading.Lock()  # of baselines, which have a worker process of their own
        self._baselines: dict[tuple[str, str], float | None] = {}  # by baseline and objective; None: failed
        self._sandboxes = States(task, program, limits=limits, kept=live)
        self.root = self._found(())

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker process."""
        self._sandboxes.close()

    def state(self, trace: Trace) -> State:
        """Return the state after a trace; its unknown states and edges are added to the tree.

        Raises:
            CompilerCrash: the compiler fails at an entry; the failure is an edge of the tree.
            IllegalAction, UnknownName: an entry does not apply.
        """
        found = self.root
        for text in trace:
            edge = self.apply(found, text)
            if edge.target is None:
                raise CompilerCrash(f"after {len(found.trace)} steps, {text!r} failed: {edge.error}")
            found = self.states[edge.target]
        return found

    def apply(self, state: State, text: str) -> Edge:
        """Apply an entry in a state; the failure of a compiler is an edge without a target.

        Raises:
            IllegalAction: the action does not apply here.
            UnknownName: the action is unknown.
        """
        with self._lock:
            if known := self.edges.get((state.digest, text)):
                return known
            self._sessions_ready()
            begin = time.perf_counter()
            target, error = None, ""
            try:
                target = self._found((*state.trace, text)).digest
            except CompilerCrash as crash:
                error = str(crash)
            edge = Edge(state.digest, text, target, time.perf_counter() - begin, error)
            self.edges[state.digest, text] = edge
            return edge

    def sites(self, state: State) -> tuple[str, ...]:
        """Return the sites to act at: "" for the whole program; only the question's if a compiler asks."""
        with self._session(state) as session:
            if question := session.question():
                return (question,)
            return (WHOLE_PROGRAM, *session.sites())

    def legal(self, state: State, *sites: str) -> tuple[LegalAction, ...]:
        """Return the legal actions at some sites, by default at all; the answers if a compiler asks."""
        with self._session(state) as session:
            if question := session.question():
                asked = not sites or question in sites or WHOLE_PROGRAM in sites
                places: Sequence[str] = (question,) if asked else ()
                masks = session.legal()[None][: len(places)]
            else:
                places = sites or (WHOLE_PROGRAM, *session.sites())
                masks = session.mask(places).reshape(len(places), -1)
            return tuple(
                LegalAction(int(i), entry(session.actions[i], site), site)
                for site, mask in zip(places, masks, strict=True)
                for i in np.flatnonzero(mask)
            )

    def observe(self, state: State, name: str | None = None) -> Observed:
        """Return an observation of a state: by default the task's first one, or raise UnknownName."""
        item = self.task.observation(name)
        key = state.digest, item.name
        with self._lock:
            if known := self._observed.get(key):
                return known
            with self._session(state) as session:
                seen = session.observe(item.name)
            if isinstance(seen, str) and not item.noisy:
                self._observed.put(key, seen)
            return seen

    def observe_along(self, trace: Trace, name: str, seconds: float = ALONG_SECONDS) -> list[Observed | None]:
        """Return an observation of the program and after each entry of a trace: [1 + len(trace)].

        What is unknown after `seconds` stays None. Other threads may work between two entries.

        Raises:
            CompilerCrash, IllegalAction, UnknownName: the trace or the observation is not this task's.
        """
        name = self.task.observation(name).name
        ends, found = time.monotonic() + seconds, list[Observed | None]()
        with self._lock:
            digests = self._sandboxes.digests(trace)
            known = [self._arrays.get((digest, name)) for digest in digests]
            if all(seen is not None for seen in known):
                return list(known)
            self._sessions_ready()
            session = self._sandboxes.session(()).fork()
        try:
            for digest, text in zip(digests, ("", *trace), strict=True):
                if time.monotonic() > ends:
                    break
                with self._lock:
                    if text:
                        session.apply_entry(text)
                    if (seen := self._arrays.get((digest, name))) is None:
                        seen = session.observe(name)
                        self._arrays.put((digest, name), seen)
                found.append(seen)
        finally:
            with self._lock:
                session.close()
        return [*found, *known[len(found) :]]

    def cost(self, state: State, objective: str | None = None) -> float:
        """Return the cost of a state; noisy costs are measured each time.

        Raises:
            UnknownName: the task has no such objective.
            NotMeasurable: the program does not have this cost.
        """
        goal = self.task.objective(objective)
        with self._lock:
            if (state.digest, goal.name) in self._costs:
                return self._costs[state.digest, goal.name]
            with self._session(state) as session:
                cost = session.measure(goal.name)
            if goal.exact:
                self._costs[state.digest, goal.name] = cost
            return cost

    def costs(self, state: State) -> dict[str, float]:
        """Return the exploration's costs of a state, without those that the program does not have."""
        found = {}
        for name in self.objectives:
            with suppress(NotMeasurable):
                found[name] = self.cost(state, name)
        return found

    def site_costs(self, state: State, objective: str | None = None) -> Mapping[str, float]:
        """Return the sites' costs in a state; {} if sites have no costs of their own."""
        goal = self.task.objective(objective)
        if not goal.by_site:
            return {}
        key = state.digest, goal.name
        with self._lock:
            if (known := self._site_costs.get(key)) is None:
                with self._session(state) as session:
                    known = session.site_costs(goal.name, priced=False)
                if not goal.noisy:
                    self._site_costs.put(key, known)
            return known

    def baselines(self, objective: str | None = None, names: Iterable[str] = ()) -> dict[str, float]:
        """Return baselines' costs by name, by default of all; measured on first use.

        A baseline that this program does not have is left out.
        """
        goal, wanted = self.task.objective(objective).name, tuple(names or self.task.baselines)
        with self._measuring:
            if missing := [name for name in wanted if (name, goal) not in self._baselines]:
                with closing(Worker(self.limits)) as worker:
                    for name in missing:
                        self._baselines[name, goal] = self._baseline(name, goal, worker)
            costs = {name: self._baselines[name, goal] for name in wanted}
            return {name: cost for name, cost in costs.items() if cost is not None}

    def _baseline(self, name: str, goal: str, worker: Worker) -> float | None:
        """Measure a baseline; None if the program does not have it."""
        with suppress(BurnishError):
            return self.problem(goal).open_baseline(name, worker).measure(goal)
        return None

    def search(
        self,
        state: State,
        budget: Budget,
        *,
        objective: str | None = None,
        method: str = DEFAULT,
        seed: int = 0,
        grown: int = GROWN,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> State:
        """Search from a state, add the cheapest evaluated traces to the tree, and return the best state.

        At most `grown` traces are added. If none of these is better, the given state is returned.

        Raises:
            UnknownName: the objective or the search is unknown.
        """
        goal = self.task.objective(objective).name
        started = replace(self.task, open=partial(_open_after, self.task, state.trace), stages=())
        seen: dict[Trace, Evaluation] = {}

        def see(news: Progress) -> None:
            if not news.latest.error:
                seen[news.latest.path] = news.latest
            progress(news)

        problem = Problem(started, self.program.remembered(), goal, limits=self.limits)
        search(problem, budget, method=method, seed=seed, progress=see)
        best = state
        for evaluation in sorted(seen.values(), key=lambda item: item.order)[:grown]:
            with suppress(CompilerCrash, IllegalAction):
                found = self.state((*state.trace, *evaluation.path))
                if self.cost(found, goal) < self.cost(best, goal):
                    best = found
        return best

    def minimize(
        self,
        trace: Trace,
        objective: str | None = None,
        *,
        seconds: float = 60.0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Reduced:
        """Leave out the entries of a trace that do not lower its cost; see explain.minimize_trace.

        Raises:
            InputError: the objective is noisy.
            CompilerCrash, IllegalAction, UnknownName: the trace cannot be applied.
        """
        goal = self.task.objective(objective)
        if goal.noisy:
            raise InputError(f"{goal.name} differs at each measurement; expected an exact objective")
        with States(self.task, self.program, limits=self.limits) as states:  # other threads need not wait
            reduced = minimize_trace(states, trace, goal.name, seconds=seconds, stopped=stopped)
        self.state(reduced.trace)
        return reduced

    def validate(self, state: State, scrutiny: Scrutiny | None = None) -> Validation:
        """Replay a state's trace in new processes and compare the program's behaviour: see `validate`."""
        scrutiny = scrutiny or Scrutiny(reduce_seconds=60.0, limits=self.limits)
        return validate(self.task, self.program, state.trace, scrutiny=scrutiny)

    def emitted(self, state: State, suffix: str = "", arguments: Sequence[str] = ()) -> bytes:
        """Return a state as a file with a suffix; by default the task's first format.

        Raises:
            InputError: the task does not write this format.
        """
        emitters = self.task.files.emitters
        suffix = suffix or next(iter(emitters), "")
        if suffix not in emitters:
            known = " ".join(emitters) or "no files"
            raise InputError(f"{suffix!r}: {self.task.id} does not write this format; it writes {known}")
        with self._session(state) as session:
            return emitters[suffix](session, tuple(arguments), self.task.reference)

    def commandline(self, state: State) -> str:
        """Return another tool's command that applies a state's trace; "" if no command can."""
        write = self.task.checks.commandline
        with suppress(InputError):  # raised if no tool can run one of the entries
            return write(state.trace) if write and state.trace else ""
        return ""

    def result(self, state: State, objective: str | None = None, source: Sequence[str] = ()) -> Result:
        """Return a state as a row that `burnish replay` reads; `source` is the program's file and arguments.

        The row is not verified: see `validate`.
        """
        goal = self.task.objective(objective).name
        with self._session(state) as session:
            digest = session.digest()
        return Result(
            task=self.task.id,
            program=self.program.name,
            digest=self.program.digest,
            objective=goal,
            method=METHOD,
            seed=0,
            trace=state.trace,
            cost=self.cost(state, goal),
            baselines=self.baselines(goal),
            evaluations=len(self.edges),
            seconds=sum(edge.seconds for edge in self.edges.values()),
            toolchain=toolchain(self.task),
            options=self.task.options,
            state=digest,
            source=tuple(source),
        )

    def remembered(self, state: State, objective: str | None = None) -> bytes:
        """Return a state as a file of remembered results, where later searches start: see search.memory."""
        goal = self.task.objective(objective).name
        with TemporaryDirectory() as folder:
            memory = Memory(Path(folder) / "memory", self.task, self.program, goal)
            with self._session(self.root) as session:
                memory.look_up(session)  # reads the identities of the sites
            memory.keep(state.trace, self.cost(state, goal))
            return memory.path.read_bytes()

    def problem(self, objective: str | None = None) -> Problem:
        """Return the program as the input of searches and evaluations."""
        return Problem(self.task, self.program, objective, limits=self.limits)

    def _found(self, trace: Trace) -> State:
        """Return the state after a trace, entered in the tree if it is new."""
        digest = self._sandboxes.digests(trace)[-1]
        return self.states.setdefault(digest, State(digest, trace))

    @contextmanager
    def _session(self, state: State) -> Iterator[Session]:
        """Yield a session in a state, which must not be changed; other threads wait."""
        with self._lock:
            self._sessions_ready()
            yield self._sandboxes.session(state.trace)

    def _sessions_ready(self) -> None:
        """Start a new worker process if the last one died between two calls, so no later call fails."""
        with suppress(CompilerCrash):
            self._sandboxes.session(()).question()


def _open_after(task: Task, trace: Trace, program: Program) -> Session:
    """Open a program in the state after a trace; a worker calls it."""
    session = task.open(program)
    session.replay(trace)
    return session
