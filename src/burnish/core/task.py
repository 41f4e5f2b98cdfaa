"""Tasks: what is particular to one compiler and what it decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from burnish.core.behaviour import Behaviour
from burnish.core.errors import InputError, UnknownName
from burnish.core.limit import limited, unlimited
from burnish.core.objective import Objective, Observation
from burnish.core.program import Program
from burnish.core.program_source import FileSource, ProgramSource
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.setting import Setting
from burnish.core.trace import Trace
from burnish.core.validator import Validator
from burnish.core.weighted import is_weighted, weighted_objective

Opener = Callable[[Program], Session]
Emitter = Callable[[Session, tuple[str, ...], str], bytes]
"""Writes a state: (session, the compiler's own arguments, the baseline that it is or is compared with)."""
T = TypeVar("T")


@dataclass(frozen=True)
class Presentation:
    """How a task's figures are shown."""

    objectives: tuple[str, ...] = ()  # in every table, beside what was minimised
    baselines: tuple[str, ...] = ()  # in every table; all by default
    label: str = "{}"  # of a baseline: "-{}" makes "-O2"
    describe: Callable[[Program, Session, Result], str] | None = None
    """Text on the state that a result stands for; shown where there is one result."""


@dataclass(frozen=True)
class TaskSettings:
    """What a task leaves to its users, and what it makes of that.

    `configure` takes texts by the settings' names, and the objective where that has a say in defaults; from
    Task.options it makes that task again. `goal` makes of an objective what users of `burnish optimize` mean
    by it, say within limits.
    """

    objective: str = ""  # what the users of `burnish optimize` want; the task's first one by default
    settings: tuple[Setting, ...] = ()
    configure: Callable[[Mapping[str, str], str | None], Task] | None = None
    goal_settings: tuple[Setting, ...] = ()
    goal: Callable[[str, Mapping[str, str]], str] | None = None


@dataclass(frozen=True)
class TaskPolicies:
    """The policies and trainings that are a task's own, each imported when it is used."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    """By what a policy's file says it is, "module:function" of (path, task) -> GuideFor."""
    trainings: Mapping[str, str] = field(default_factory=dict)
    """By the name of the algorithm, "module:function" of (config, folder, note) -> Training."""
    shipped: Path | None = None
    """The folder of the policies that come with another package's task, NAME.npz with NAME.card.json."""


@dataclass(frozen=True)
class Task:
    """Actions, observations, objectives, baselines, how to open a session, and all else that is its own.

    The openers are functions of a module (or partials of them), so that a worker process can
    import them.
    """

    name: str
    version: int  # bumped when results could change
    language: str  # of the programs that it opens
    actions: tuple[str, ...] = field(repr=False)
    observations: Mapping[str, Observation] = field(repr=False)  # the first one is the default
    objectives: Mapping[str, Objective] = field(repr=False)  # the first one is the default
    open: Opener
    baselines: Mapping[str, Opener] = field(repr=False)
    """Sessions in the state that each leads to; the first one is the unoptimized program."""
    reference: str  # the baseline that a result is compared with
    max_steps: int | None  # of an episode; None: until nothing is legal any more, as where a compiler asks
    initial_traces: tuple[Trace, ...] = ()  # traces worth trying first
    max_trace: int = 60  # entries of a trace that a search proposes, what it joins site by site not counted,
    max_trace_by_site: int = 0  # and for each site of the opened program, as where a compiler asks
    variants: Mapping[str, Callable[[Program], Program]] = field(default_factory=dict, repr=False)
    """Other programs that one can be made into, to learn from: what other options of a compiler do."""
    searched: Callable[[Program], Program] | None = field(default=None, repr=False)
    """The program that a search works on, for which traces do the same: for a module with debug information
    the one without. None: the given one. A worker calls it."""
    options: Mapping[str, str] = field(default_factory=dict)  # settings that differ from the task's default
    settings: TaskSettings = field(default=TaskSettings(), repr=False)
    policies: TaskPolicies = field(default=TaskPolicies(), repr=False)
    make_source: Callable[[], ProgramSource] | None = field(
        default=None, repr=False
    )  # None: files as they are
    emitters: Mapping[str, Emitter] = field(default_factory=dict, repr=False)
    """How a state is written to a file, by the end of its name; the first is the default."""
    written_beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Which other files, of the same name, a file comes with: an object's header."""
    behaviour: Callable[[Program], Behaviour | None] | None = field(default=None, repr=False)
    """What to compare outputs by; None where the program is not run."""
    validator: Callable[[], Validator] = field(default=Validator, repr=False)
    """What else may be wrong with a state, and how a failure is shown without burnish."""
    commandline: Callable[[Trace], str] | None = None  # of a tool that leads there, without burnish
    toolchain: Callable[[], Mapping[str, str]] = dict  # versions that results depend on
    shown: Presentation = Presentation()
    title: str = ""  # in Gymnasium's ids; by default the name in CamelCase
    former_title: str = ""  # in Gymnasium's ids until then: environments of those ids are made, too
    independent_sites: bool = False  # what is applied at one site changes nothing at the others
    prior_gains: Mapping[str, float] = field(default_factory=dict, repr=False)
    """What an action gains at sites of other programs, relatively to each other: which to try first."""
    suffixes: tuple[Trace, ...] = field(default=(), repr=False)
    """What gained at sites of other programs: traces worth trying at every site, the best first."""
    stages: tuple[Task, ...] = ()  # of a task that is several, one after the other: burnish.core.staged
    shares: tuple[float, ...] = ()  # of a search's budget, that each stage has
    longer: str = ""
    """A staged task that begins with this one, and gains more where a search has time for both."""
    default_observations: str = ""
    """Where a compiler asks, 'module:function' of what is observed where it answers by itself."""
    threads: bool = False  # several sessions of a process may work at the same time

    @property
    def id(self) -> str:
        """Name and version, such as 'llvm_passes-v1'."""
        return f"{self.name}-v{self.version}"

    @property
    def gymnasium_ids(self) -> tuple[str, ...]:
        """Its ids in Gymnasium, such as 'burnish/LoopNests-v0'; a former one is the last."""
        title = self.title or "".join(word.capitalize() for word in self.name.split("_"))
        titles = (title, self.former_title) if self.former_title else (title,)
        return tuple(f"burnish/{title}-v{self.version}" for title in titles)

    @property
    def unoptimized(self) -> str:
        """The baseline that does nothing: the first one."""
        return next(iter(self.baselines))

    def label(self, baseline: str) -> str:
        """Return what a baseline is called in tables and messages."""
        return self.shown.label.format(baseline)

    def source(self) -> ProgramSource:
        """Return where programs come from; by default files that are named after the language."""
        return self.make_source() if self.make_source else FileSource(self.language, (f".{self.language}",))

    def configured(self, given: Mapping[str, str], objective: str | None = None) -> Task:
        """Return the task with other settings: those of `options` give the task of a result again.

        Args:
            given: Texts, by the settings' names.
            objective: What will be minimised, where that has a say in the settings that are not given.

        Raises:
            UnknownName: there is no such setting.
            InputError: a value is none of it.
        """
        known = [setting.name for setting in self.settings.settings]
        for name in given:
            if name not in known:
                if not known:
                    raise InputError(f"{name}={given[name]}: {self.id} has no settings")
                raise UnknownName.among(f"setting of {self.id}", name, known)
        return self.settings.configure(given, objective) if self.settings.configure else self

    def goal(self, objective: str | None, given: Mapping[str, str]) -> str:
        """Return an objective as a user of `burnish optimize` means it, say within limits.

        Args:
            objective: Its name; for None the one that most users want.
            given: Texts, by the names of the settings' `goal_settings`.

        Raises:
            UnknownName, InputError: see `objective`.
        """
        name = self.objective(objective or self.settings.objective or None).name
        return self.objective(self.settings.goal(name, given) if self.settings.goal else name).name

    def objective(self, name: str | None = None) -> Objective:
        """Return an objective by its name, a weighted one, or one within a limit; for None the default one.

        Raises:
            UnknownName: the task has no such objective.
            InputError: a weighted objective or a limit is not written as one.
        """
        if not isinstance(name, str | None):
            raise UnknownName.among("objective", name, self.objectives)
        if name is not None and (base := unlimited(name)) != name:
            return limited(name, self.objective(base), self.objectives)
        if name is not None and is_weighted(name):
            return weighted_objective(name, self.objectives)
        return _look_up("objective", self.objectives, name)

    @property
    def first_trace(self) -> Trace:
        """The first of the initial traces; the empty one, where there are none."""
        return self.initial_traces[0] if self.initial_traces else ()

    @property
    def exact_objectives(self) -> tuple[str, ...]:
        """The objectives whose costs are always the same; where a program has no such cost: NotMeasurable."""
        return tuple(name for name, objective in self.objectives.items() if objective.exact)

    def observation(self, name: str | None = None) -> Observation:
        """Return an observation by its name; the default one for None.

        Raises:
            UnknownName: the task has no such observation.
        """
        return _look_up("observation", self.observations, name)

    def baseline(self, name: str) -> Opener:
        """Return the opener of a baseline.

        Raises:
            UnknownName: the task has no such baseline.
        """
        return _look_up("baseline", self.baselines, name)


def _look_up(kind: str, known: Mapping[str, T], name: str | None) -> T:
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise UnknownName.among(kind, name, known)
    return known[name]
