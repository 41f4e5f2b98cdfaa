"""All that one environment is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from burnish.core.errors import UnknownName
from burnish.core.limit import limited, unlimited
from burnish.core.objective import Objective, Observation
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.core.weighted import is_weighted, weighted_objective

Opener = Callable[[Program], Session]
T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """Actions, observations, objectives, baselines, and how to open a session.

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
    max_steps: int  # of an episode
    initial_traces: tuple[Trace, ...] = ()  # traces worth trying first
    max_trace: int = 60  # entries of a trace that a search proposes, those at single sites not counted
    options: Mapping[str, str] = field(default_factory=dict)  # what differs from the task's default
    variants: Mapping[str, Callable[[Program], Program]] = field(default_factory=dict, repr=False)
    """Other programs that one can be made into, to learn from: what other options of a compiler do."""
    commandline: Callable[[Trace], str] | None = None  # of a tool that leads there, without burnish

    @property
    def id(self) -> str:
        """Name and version, such as 'llvm_passes-v1'."""
        return f"{self.name}-v{self.version}"

    def objective(self, name: str | None = None) -> Objective:
        """Return an objective by its name, a weighted one, or one within a limit; for None the default one.

        Raises:
            UnknownName: the task has no such objective.
            InputError: a weighted objective or a limit is not written as one.
        """
        if name is not None and (base := unlimited(name)) != name:
            return limited(name, self.objective(base), self.objectives)
        if name is not None and is_weighted(name):
            return weighted_objective(name, self.objectives)
        return _look_up("objective", self.objectives, name)

    @property
    def exact_objectives(self) -> tuple[str, ...]:
        """The objectives that every program has, and always the same."""
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
