"""Tasks: one compiler and the decisions that it leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from burnish.core.action import Action
from burnish.core.diagram import Drawing
from burnish.core.errors import InputError, UnknownName
from burnish.core.listing import Listing, whole
from burnish.core.objective import Objective, Observation, parse_objective
from burnish.core.program import Program
from burnish.core.program_source import FileSource, ProgramSource
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry
from burnish.core.validator import Behaviour, Validator

Opener = Callable[[Program], Session]
Emitter = Callable[[Session, tuple[str, ...], str], bytes]
"""Serialises a session's state: (session, extra compiler flags, baseline that it is or is compared with)."""
Peer = Callable[..., Session]
"""Opens a program in another implementation: (program, original=text of what it was imported from)."""
T = TypeVar("T")


@dataclass(frozen=True)
class Presentation:
    """The presentation of a task's results."""

    objectives: tuple[str, ...] = ()  # in every table, beside the minimised objective
    baselines: tuple[str, ...] = ()  # in every table; () shows all
    label: str = "{}"  # of a baseline: "-{}" makes "-O2"
    describe: Callable[[Program, Session, Result], str] | None = None
    """Returns a text about a result's state; shown if there is only one result."""

    listings: tuple[Listing, ...] = ()
    """The texts in which people compare states, the usual one first; (): the first text observation."""
    drawings: Mapping[str, Drawing] = field(default_factory=dict)
    """The diagrams in which people compare states, by their titles."""

    title: str = ""  # in Gymnasium's ids; by default the name in CamelCase
    former_title: str = ""  # the title of older Gymnasium ids, which stay valid


@dataclass(frozen=True)
class Setting:
    """An option of the command line and a key of a result's options; its value is always stored as text."""

    name: str  # the key in Task.options
    description: str  # for --help
    choices: tuple[str, ...] = ()
    metavar: str = ""
    several: bool = False  # may be repeated; the values are joined with commas
    switch: tuple[str, str] | None = None  # an option without a value, and the value set: ("no-x", "False")
    default: str | None = None  # None: the task's own default
    note: str = ""  # note in results with another value, such as "left out: {}"
    restricts: bool = False  # it only makes fewer actions legal: a policy acts under the value on its card

    @property
    def option(self) -> str:
        """The option of the command line, without leading dashes."""
        return self.switch[0] if self.switch else self.name.replace("_", "-")


@dataclass(frozen=True)
class TaskSettings:
    """User-facing settings of a task, and how they are applied.

    `configure` takes texts by the settings' names, and the objective, because defaults may depend on it. With
    Task.options, it makes the same task again. `goal` turns an objective into the one that users of
    `burnish optimize` mean for a program, for example within limits; None: for a usual program.
    """

    objective: str = ""  # default objective of `burnish optimize`; the task's first one if ""
    settings: tuple[Setting, ...] = ()
    configure: Callable[[Mapping[str, str], str | None], Task] | None = None
    goal_settings: tuple[Setting, ...] = ()
    goal: Callable[[str, Mapping[str, str], Program | None], str] | None = None


@dataclass(frozen=True)
class TaskPolicies:
    """A task's own policies and trainings; each module is imported on first use."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    """Loaders by policy kind, as "module:function" of (path, task) -> GuideFor."""
    trainings: Mapping[str, str] = field(default_factory=dict)
    """Trainings by algorithm name, as "module:function" of (config, folder, note) -> Training."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings by policy kind: such a policy does not guide a search, it is the value of the setting."""
    default_observations: str = ""
    """If the compiler asks: "module:function" that returns the observations along the compiler's answers."""
    decided: str = ""
    """"module:function" of (path) -> the best trace of each program in the task's own file of decisions, as
    burnish.learning.training.collect.Found; None if the file is another one."""
    shipped: Path | None = None
    """The folder of the policies shipped with another package's task: NAME.npz with NAME.card.json."""


@dataclass(frozen=True)
class SearchHints:
    """Starting points for searches, and limits of a trace's length."""

    initial_traces: tuple[Trace, ...] = ()  # traces worth trying first
    max_trace: int = 60  # entries of a trace that a search proposes, without those joined site by site
    max_trace_by_site: int = 0  # further entries per site of the opened program, if the compiler asks
    independent_sites: bool = False  # an action at one site changes nothing at the others
    fixed_legality: bool = False  # what is legal depends on the program alone, not on its state
    prior_gains: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Relative gains of actions at sites of other programs: actions with a larger gain are tried first."""
    suffixes: tuple[Trace, ...] = field(default=(), repr=False)
    """Traces that gained at sites of other programs: worth trying at every site, the best first."""
    longer: str = ""
    """A staged task that begins with this one, and gains more if a search has time for both."""
    of_program: Callable[[Session], SearchHints] | None = field(default=None, repr=False)
    """Returns the hints for an opened program, where they depend on it; None: these."""

    def for_program(self, session: Session) -> SearchHints:
        """Return the hints for a program that was just opened."""
        return self.of_program(session) if self.of_program else self

    @property
    def first_trace(self) -> Trace:
        """The first of the initial traces; the empty trace if there are no initial traces."""
        return self.initial_traces[0] if self.initial_traces else ()


@dataclass(frozen=True)
class Files:
    """Functions that read programs, vary them, and write states."""

    make_source: Callable[[], ProgramSource] | None = None  # None: files as they are
    emitters: Mapping[str, Emitter] = field(default_factory=dict)
    """Writers of a state to a file, by the file's suffix; the first is the default."""
    written_beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Suffixes of further files written with a file, under the same stem: an object's header."""
    variants: Mapping[str, Callable[[Program], Program]] = field(default_factory=dict)
    """Transformations of a program into further training programs, such as the effect of compiler options."""
    searched: Callable[[Program], Program] | None = None
    """Returns the program to search on, in which traces have the same effect: for a module with debug
    information, the module without it. None: the given program. A worker calls it."""


@dataclass(frozen=True)
class Checks:
    """Functions that check results, and repeat them without burnish."""

    behaviour: Callable[[Program], Behaviour | None] | None = None
    """Returns the program's behaviour, which compares outputs; None if the program is not run."""
    validator: Callable[[], Validator] = Validator
    """Further checks of a state, and reproducers of failures without burnish."""
    commandline: Callable[[Trace], str] | None = None  # command of another tool that applies a trace
    toolchain: Callable[[], Mapping[str, str]] = dict  # versions that results depend on
    peers: Mapping[str, Peer] = field(default_factory=dict, repr=False)
    """Other implementations of its programs, such as a library: results can be compared with them."""


@dataclass(frozen=True)
class Task:
    """The decisions of one compiler; every task needs the fields without a default.

    The openers are functions of a module (or partials of such functions), so that a worker process can
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
    """Open sessions in the baselines' states; the first one is the unoptimized program."""
    reference: str  # the baseline that a result is compared with
    max_steps: int | None  # per episode; None: until no action is legal, as in tasks where a compiler asks
    hints: SearchHints = field(default=SearchHints(), repr=False)
    files: Files = field(default=Files(), repr=False)
    checks: Checks = field(default=Checks(), repr=False)
    policies: TaskPolicies = field(default=TaskPolicies(), repr=False)
    settings: TaskSettings = field(default=TaskSettings(), repr=False)
    options: Mapping[str, str] = field(default_factory=dict)  # settings that differ from the task's default
    shown: Presentation = field(default=Presentation(), repr=False)
    descriptions: Mapping[str, str] = field(default_factory=dict, repr=False)
    """A line on each action, by its text or its kind; "{0}" stands for the first parameter."""
    stages: tuple[Task, ...] = ()  # the tasks of a staged task: see burnish.core.staged
    shares: tuple[float, ...] = ()  # each stage's share of a search's budget
    threads: bool = False  # several sessions of a process may run at the same time

    @property
    def id(self) -> str:
        """Name and version, such as 'llvm_passes-v1'."""
        return f"{self.name}-v{self.version}"

    @property
    def gymnasium_ids(self) -> tuple[str, ...]:
        """Its ids in Gymnasium, such as 'burnish/LoopNests-v0'; a former id comes last."""
        title = self.shown.title or "".join(word.capitalize() for word in self.name.split("_"))
        titles = (title, self.shown.former_title) if self.shown.former_title else (title,)
        return tuple(f"burnish/{title}-v{self.version}" for title in titles)

    @property
    def text_id(self) -> str:
        """The id of its environment in text, such as 'burnish/LoopNestsText-v0'."""
        name, _, version = self.gymnasium_ids[0].rpartition("-")
        return f"{name}Text-{version}"

    @property
    def unoptimized(self) -> str:
        """The baseline that does nothing: the first one."""
        return next(iter(self.baselines))

    def with_peers(self, original: str = "") -> Task:
        """Return the task with its peers among the baselines.

        Args:
            original: What the program was imported from; "" if it was not imported.
        """
        opened = {name: partial(peer, original=original) for name, peer in self.checks.peers.items()}
        return replace(self, baselines={**self.baselines, **opened})

    def label(self, baseline: str) -> str:
        """Return a baseline's label in tables and messages."""
        return self.shown.label.format(baseline)

    @property
    def listings(self) -> tuple[Listing, ...]:
        """The texts in which people compare states, the usual one first; () if the task has no text."""
        texts = [name for name, item in self.observations.items() if item.kind == "text"]
        return self.shown.listings or tuple(Listing(name, whole) for name in texts[:1])

    def site_title(self, site: str) -> str:
        """Return a site's name as people read it: demangled, for example."""
        return self.listings[0].title(site) if self.listings else site

    def site_titles(self, entries: Iterable[str]) -> dict[str, str]:
        """Return the names of a trace's sites as people read them, where these differ from the sites."""
        sites = dict.fromkeys(split_entry(text)[0] for text in entries)
        return {site: title for site in sites if (title := self.site_title(site)) != site}

    def describe(self, action: str) -> str:
        """Return a line on an action; "" if the task has none."""
        if action in self.descriptions:
            return self.descriptions[action]
        parsed = Action.parse(action)
        return self.descriptions.get(parsed.kind, "").format(*parsed.parameters)

    def source(self) -> ProgramSource:
        """Return the source of programs; by default, files with the language as suffix."""
        make = self.files.make_source
        return make() if make else FileSource(self.language, (f".{self.language}",))

    def configured(self, given: Mapping[str, str], objective: str | None = None) -> Task:
        """Return the task with other settings; a result's `options` make the result's task again.

        Args:
            given: Texts, by the settings' names.
            objective: The objective to minimise; defaults of settings may depend on it.

        Raises:
            UnknownName: there is no such setting.
            InputError: the task has no settings, or a value is invalid.
        """
        known = [setting.name for setting in self.settings.settings]
        for name in given:
            if name not in known:
                if not known:
                    raise InputError(f"{name}={given[name]}: {self.id} has no settings")
                raise UnknownName.among(f"setting of {self.id}", name, known)
        return self.settings.configure(given, objective) if self.settings.configure else self

    def goal(self, objective: str | None, given: Mapping[str, str], program: Program | None = None) -> str:
        """Return an objective as a user of `burnish optimize` means it, for example within limits.

        Args:
            objective: The objective's name; None: the default of `burnish optimize`.
            given: Texts, by the names of the settings' `goal_settings`.
            program: The program, whose machine may have limits of its own; None: a usual one.

        Raises:
            UnknownName, InputError: see `objective`.
        """
        name = self.objective(objective or self.settings.objective or None).name
        return self.objective(self.settings.goal(name, given, program) if self.settings.goal else name).name

    def objective(self, name: str | None = None) -> Objective:
        """Return an objective by its text: a name, a weighted one, or one within limits; None: the default.

        Raises:
            UnknownName: the task has no such objective.
            InputError: a weighted objective or a limit is malformed.
        """
        if not isinstance(name, str | None):
            raise UnknownName.among("objective", name, self.objectives)
        if name is None:
            return next(iter(self.objectives.values()))
        return parse_objective(name).objective(self.objectives)

    @property
    def exact_objectives(self) -> tuple[str, ...]:
        """The names of the exact objectives; measuring raises NotMeasurable if a program has no such cost."""
        return tuple(name for name, objective in self.objectives.items() if objective.exact)

    def observation(self, name: str | None = None) -> Observation:
        """Return an observation by its name (None: the default), or raise UnknownName."""
        return _look_up("observation", self.observations, name)

    def baseline(self, name: str) -> Opener:
        """Return the opener of a baseline, or raise UnknownName."""
        return _look_up("baseline", self.baselines, name)


def _look_up(kind: str, known: Mapping[str, T], name: str | None) -> T:
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise UnknownName.among(kind, name, known)
    return known[name]
