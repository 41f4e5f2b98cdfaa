"""Staged tasks: several tasks in sequence as one, such as inlining, then passes, then code generation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from burnish.core.action import Action
from burnish.core.objective import Observation
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.core.task import Emitter, Opener, Task, TaskPolicies
from burnish.core.trace import WHOLE_PROGRAM, Trace
from burnish.core.view import Mask, Observed
from burnish.core.walk import after

STAGE = "stage"
INITIAL_TRACES = 8  # most initial traces, which are combinations of the stages' own


@dataclass(frozen=True)
class Stage:
    """A task that continues from the previous task's final state."""

    task: Task
    open: Callable[[Session], Session]
    """Opens the task in the previous session's state, leaving that session as is; a function of a module."""
    default: Trace = ()  # applied in this stage if no other action is
    share: float = 0.3  # of a search's budget

    @property
    def begin(self) -> str:
        """The action that ends the previous stage: 'begin(llvm_passes)'."""
        return str(Action("begin", (self.task.name,)))


class StagedSession(Session):
    """A program in one of several stages; a stage's actions are legal in that stage only.

    Costs and output files are those of the final stage, with every remaining stage run on its defaults.
    """

    def __init__(
        self,
        actions: Sequence[str],
        stages: Sequence[Stage],
        session: Session,
        reopen: Callable[[], Session] | None = None,
        current: int = 0,
    ) -> None:
        super().__init__(actions, reopen)
        self.stages = tuple(stages)  # all stages after the first task
        self.session = session  # of the current stage
        self.current = current
        self._last: Session | None = None  # the last stage's session in this state
        self._find_numbers()

    @property
    def last(self) -> Session:
        """The session of the last stage, opened in this state with defaults."""
        if self._last is None:
            self._last = self._settled()
            for stage in self.stages[self.current :]:
                self._last = _with_default(stage.open(self._last), stage)
        return self._last

    def _settled(self) -> Session:
        """Return the current stage's session, with its default applied if its trace is empty."""
        if self.current and not self.session.trace:
            return _with_default(self.session, self.stages[self.current - 1])
        return self.session

    def question(self) -> str:
        """See Session."""
        return self.session.question()

    def sites(self) -> tuple[str, ...]:
        """See Session."""
        return self.session.sites()

    def identities(self) -> dict[str, str]:
        """See Session."""
        return self.session.identities()

    def alternatives(self) -> Trace:
        """See Session."""
        return self.session.alternatives()

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the current stage's legal actions, and for the whole program the next stage's `begin`."""
        mask = np.zeros(len(self.actions), dtype=bool)
        mask[self._numbers] = self.session.legal(site)
        if self._next is not None and site == WHOLE_PROGRAM:
            mask[self._next] = True
        return mask

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Apply an action of the current stage, or begin the next stage."""
        self.check_legal(action, site)
        if action == self._next:
            self.session = self.stages[self.current].open(self._settled())
            self.current += 1
            self._find_numbers()
            self.record(action, site)
            changed = True  # other actions are legal now
        else:
            changed = self.session.apply(self._local[action], site)
            self.trace.append(self.session.trace[-1])
        self._last = None
        return changed

    def observe(self, space: str) -> Observed:
        """See Session."""
        if space == STAGE:
            stage: NDArray[np.int64] = np.eye(1, len(self.stages) + 1, self.current, dtype=np.int64)[0]
            return stage
        return self.session.observe(space)

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """See Session."""
        return self.measure(objective, site)

    def measure(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Measure the last stage's result from this state; sites that the current stage lacks cost 0."""
        if site != WHOLE_PROGRAM and self.last is not self.session and site not in self.session.sites():
            return 0.0
        return self.last.measure(objective, site)

    def site_costs(self, objective: str, priced: bool = True) -> dict[str, float]:
        """See Session."""
        costs = self.last.site_costs(objective, priced)
        if self.last is self.session:
            return costs
        here = set(self.session.sites())  # the last stage may have others
        return {site: cost for site, cost in costs.items() if site in here}

    def room(self, objective: str) -> float:
        """See Session."""
        return self.last.room(objective)

    def part(self, site: str, objective: str) -> Part | None:
        """See Session."""
        return self.session.part(site, objective) if self.last is self.session else None

    def digest(self) -> str:
        """See Session."""
        return f"{self.current}:{self.session.digest()}"

    def verify(self) -> str:
        """See Session."""
        if self.last is not self.session:
            self.session.verify()
        return self.last.verify()

    def object_code(self) -> bytes:
        """See Session."""
        return self.last.object_code()

    def fork(self) -> Session:
        """See Session."""
        copy = StagedSession(self.actions, self.stages, self.session.fork(), current=self.current)
        copy.trace = list(self.trace)
        return copy

    def close(self) -> None:
        """See Session."""
        self.session.close()

    def _find_numbers(self) -> None:
        """Map the current stage's actions to this session's actions."""
        self._numbers = np.array([self.index(text) for text in self.session.actions], dtype=np.int64)
        self._local = {int(number): i for i, number in enumerate(self._numbers)}
        ahead = self.stages[self.current :]
        self._next = self.index(ahead[0].begin) if ahead else None


def _with_default(session: Session, stage: Stage) -> Session:
    if not stage.default:
        return session
    settled = session.fork()
    settled.replay(stage.default)
    return settled


def staged(name: str, first: Task, *stages: Stage, version: int = 0) -> Task:
    """Return one task of several tasks in sequence; each continues from the previous one's final state.

    The actions are those of all tasks, and one per stage that begins it, such as `begin(llvm_passes)`.
    Programs, baselines and behaviour come from the first task. Objectives, output files and the presentation
    come from the last task. The observations are those that all tasks share, and `stage`.
    """
    tasks = (first, *(stage.task for stage in stages))
    last = tasks[-1]
    as_it_is = tuple(replace(stage, default=()) for stage in stages)
    texts = itertools.chain(first.actions, *((stage.begin, *stage.task.actions) for stage in stages))
    actions = tuple(dict.fromkeys(texts))  # a text that several tasks have is one action
    steps = [task.max_steps for task in tasks]
    return replace(
        last,
        name=name,
        version=version,
        language=first.language,
        actions=actions,
        observations=_observations(tasks),
        open=partial(_open, first.open, actions, stages),
        baselines={
            baseline: partial(_open, opener, actions, as_it_is)
            for baseline, opener in first.baselines.items()
        },
        reference=first.reference,
        max_steps=None if None in steps else sum(filter(None, steps)) + len(stages),
        hints=replace(
            last.hints,
            max_trace=sum(task.hints.max_trace for task in tasks) + len(stages),
            max_trace_by_site=sum(task.hints.max_trace_by_site for task in tasks),
            initial_traces=_initial_traces(first, stages),
        ),
        options={},
        settings=replace(last.settings, settings=(), configure=None),
        policies=TaskPolicies(),
        files=replace(
            first.files,
            make_source=first.source,
            emitters={
                suffix: partial(_emit, emitter, tuple(stage.begin for stage in stages))
                for suffix, emitter in last.files.emitters.items()
            },
            written_beside=last.files.written_beside,
        ),
        checks=replace(
            last.checks,
            behaviour=first.checks.behaviour,
            commandline=None,
            toolchain=partial(_toolchain, tasks),
        ),
        shown=replace(last.shown, title="", former_title=""),
        descriptions=_descriptions(tasks, stages),
        stages=tasks,
        shares=(1 - sum(stage.share for stage in stages), *(stage.share for stage in stages)),
        threads=all(task.threads for task in tasks),
    )


def _open(opener: Opener, actions: tuple[str, ...], stages: tuple[Stage, ...], program: Program) -> Session:
    return StagedSession(
        actions, stages, opener(program), reopen=partial(_open, opener, actions, stages, program)
    )


def _emit(
    emitter: Emitter, begins: Trace, session: Session, arguments: tuple[str, ...], baseline: str
) -> bytes:
    """Write the last stage's result from a state; works in any process."""
    with after(session, begins, skip_illegal=True) as last:  # stages that have begun are illegal, so skipped
        return emitter(last, arguments, baseline)


def _descriptions(tasks: Sequence[Task], stages: Sequence[Stage]) -> dict[str, str]:
    """Return a line on each action; an action of several tasks has all their texts."""
    found = {stage.begin: f"End this stage, and begin {stage.task.name}" for stage in stages}
    for task in tasks:
        for action in task.actions:
            if text := task.describe(action):
                found[action] = f"{found[action]}; later: {text}" if action in found else text
    return found


def _observations(tasks: Sequence[Task]) -> dict[str, Observation]:
    """Return the observations that all tasks share, and `stage`; arrays come first."""
    columns = tuple(task.name for task in tasks)
    stage = Observation(
        STAGE, "1 for the current stage, 0 for the others", shape=(len(tasks),), high=1, columns=columns
    )
    same = {
        name: observation
        for name, observation in tasks[0].observations.items()
        if all(name in task.observations and _alike(task.observations[name], observation) for task in tasks)
    }
    return dict(sorted((same | {STAGE: stage}).items(), key=lambda item: item[1].kind != "array"))


def _alike(*observations: Observation) -> bool:
    """Return whether observations differ in their descriptions only."""
    one, other = (replace(item, description="", columns=tuple(item.columns)) for item in observations)
    return one == other


def _initial_traces(first: Task, stages: Iterable[Stage]) -> tuple[Trace, ...]:
    """Return joined initial traces of all stages; each stage's first comes before its others and ()."""
    traces: list[Trace] = [*first.hints.initial_traces, ()]
    for stage in stages:
        own = [*stage.task.hints.initial_traces, ()]
        traces = [(*trace, stage.begin, *more) for more in own for trace in traces]
    return tuple(traces[:INITIAL_TRACES])


def _toolchain(tasks: Sequence[Task]) -> Mapping[str, str]:
    return {tool: version for task in tasks for tool, version in task.checks.toolchain().items()}
