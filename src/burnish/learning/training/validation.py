"""Validation of a policy on held-out programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from gymnasium.vector.utils import iterate

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.session import first_places
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.view import Mask
from burnish.envs.env import Env
from burnish.envs.env_spaces import ActionSpace
from burnish.envs.vector import VectorEnv
from burnish.learning.training.chosen_programs import Chosen
from burnish.policies.choose import Actor
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker

SCORE = "validation/ratio"
NOTHING_YET = 0.0  # the score of a training that has no policy yet


@dataclass(frozen=True)
class Held:
    """A held-out program, with its cost before any action and under the task's reference."""

    program: Program = field(repr=False)
    start: float
    reference: float


@dataclass(frozen=True)
class Played:
    """A policy's result on one program."""

    program: str  # its name
    reference: float  # cost under the task's reference
    best: float  # least measured cost, the start included; the last cost if the compiler asks questions
    last: float
    crashed: bool = False  # or could not be opened again
    trace: Trace = ()  # to the state of the `best` cost

    @property
    def ratio(self) -> float:
        """Reference / cost: above 1 is better."""
        return self.reference / self.best


def with_choices(programs: Chosen, task: Task, actions: ActionSpace, limits: Limits) -> Chosen:
    """Return the programs that have a legal action in their initial state.

    Raises:
        InputError: no program has one.
    """
    order = []
    worker = Worker(limits)
    try:
        for place, program in zip(programs.order, programs, strict=True):
            with suppress(ProgramError, CompilerCrash):
                session = Sandbox(task.open, program, worker=worker)
                if actions.legal(session.mask(first_places(session, actions.sites))).any():
                    order.append(place)
                session.close()
    finally:
        worker.close()
    if not order:
        raise InputError("programs: no program has a legal action")
    return programs.ordered(tuple(order))


def hold_out(
    task: Task,
    programs: Sequence[Program],
    objective: str,
    *,
    limits: Limits,
    actions: ActionSpace | None = None,
    note: Callable[[int, int], None] | None = None,
) -> tuple[list[Held], list[str]]:
    """Measure programs as they are and under the task's reference.

    One of `actions`, by default all on the whole program, must be legal at first. `note` is called with the
    number of finished programs, and of all.

    Returns:
        The usable programs; and for each other program its name and the reason.

    Raises:
        InputError: no program can be used.
    """
    held: list[Held] = []
    left_out: list[str] = []
    choice = actions or ActionSpace(task, None, 0)
    worker = Worker(limits)
    try:
        for number, program in enumerate(programs):
            if note:
                note(number, len(programs))
            try:
                reference = Sandbox(task.baseline(task.reference), program, worker=worker).measure(objective)
                session = Sandbox(task.open, program, worker=worker)
                if not choice.legal(session.mask(first_places(session, choice.sites))).any():
                    left_out.append(f"{program.name}: no action is legal")
                    continue
                held.append(Held(program, session.measure(objective), reference))
            except (ProgramError, CompilerCrash) as error:
                left_out.append(f"{program.name}: {error}")
    finally:
        worker.close()
    if not held:
        raise InputError(f"no validation program can be used: {'; '.join(left_out[:3])}")
    return held, left_out


def play_all(
    actor: Actor, held: Sequence[Held], make: Callable[[Sequence[Program]], Env], count: int
) -> list[Played]:
    """Play every program once, with the most probable action in each state: see greedy_play.

    Each environment acts on its own as soon as it is ready, so results do not depend on the others.
    `make` returns an environment that plays the given programs in a cycle; there are `count` at a time.
    """
    programs = [item.program for item in held]
    number_of = {id(program): number for number, program in enumerate(programs)}
    envs = VectorEnv(lambda: make(programs), min(count, len(programs)))
    asked = envs.envs[0].max_steps is None  # no fallback to the start, which has the compiler's own answers
    # A program that cannot be opened again is skipped, and keeps its initial cost.
    played = [Played(item.program.name, item.reference, item.start, item.start, True) for item in held]
    try:
        for program, costs, crashed in _episodes(envs, actor):
            number = number_of[id(program)]
            reference = held[number].reference
            best, trace = costs[-1] if asked else min(costs, key=itemgetter(0))
            played[number] = Played(program.name, reference, best, costs[-1][0], crashed, trace)
    finally:
        envs.close()
    return played


def measure(played: Sequence[Played]) -> dict[str, float]:
    """Return the metrics; means are geometric, of reference / cost.

    The cost is the least of an episode, because a user of the policy keeps that state; the last may be worse.
    A crashed episode counts with the least cost before the crash, or the initial cost.
    """
    logs = [math.log(item.ratio) for item in played]
    last = [math.log(item.reference / item.last) for item in played]
    return {
        SCORE: math.exp(math.fsum(logs) / len(logs)),
        "validation/last_ratio": math.exp(math.fsum(last) / len(last)),
        "validation/total_ratio": sum(item.reference for item in played) / sum(item.best for item in played),
        "validation/better": sum(item.best < item.reference for item in played) / len(played),
        "validation/worse": sum(item.best > item.reference for item in played) / len(played),
        "validation/crashes": float(sum(item.crashed for item in played)),
    }


@dataclass
class _Episode:
    """The current episode of one environment."""

    program: Program
    costs: list[tuple[float, Trace]]  # the measured ones
    greedy: Greedy


def _episodes(envs: VectorEnv, actor: Actor) -> Iterator[tuple[Program, list[tuple[float, Trace]], bool]]:
    """Yield (program, measured costs with their traces, whether it crashed) for each program of the cycle."""

    def act(i: int, observation: Any, mask: Mask) -> None:
        envs.send(i, playing[i].greedy.choose(observation, mask, envs.envs[i].question))

    observed, infos = envs.reset(seed=0)
    first = envs.envs[0].programs
    total = len(first) if isinstance(first, Sequence) else 0
    playing = {i: _Episode(env.program, [(env.cost, ())], Greedy(actor)) for i, env in enumerate(envs.envs)}
    begun = dict.fromkeys(playing, 1)
    for i, observation in enumerate(iterate(envs.observation_space, observed)):
        act(i, observation, infos["mask"][i])
    over: set[int] = set()
    while playing:
        for i, (observation, _, terminated, truncated, info) in envs.ready():
            if i in over:  # the environment was reset and begins a new episode
                over.remove(i)
                begun[i] += 1
                playing[i] = _Episode(envs.envs[i].program, [], Greedy(actor))
            episode = playing[i]
            episode.costs += [(info["cost"], envs.envs[i].trace)] if "cost" in info else []
            if not (terminated or truncated):
                act(i, observation, info["mask"])
                continue
            yield episode.program, episode.costs, "error" in info
            if begun[i] * envs.num_envs + i < total:
                over.add(i)
                envs.send(i, 0)
            else:
                del playing[i]


HISTORY = "trace"  # the observation that changes with every action, even one without effect


class Greedy:
    """Greedy player of one episode.

    After an action that leaves the observation unchanged, a greedy policy would repeat that action for ever.
    So such an action is excluded until the observation or the question changes.
    """

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._before: Any = None
        self._question = ""
        self._last = -1
        self._futile: set[int] = set()

    def choose(self, observation: Any, mask: Mask, question: str = "") -> int:
        """Return a legal action; once all legal actions are excluded, all are allowed again.

        Args:
            mask: bool[n]; True: legal. At least one is.
            question: The site that the compiler asks about; "" if it asks nothing.
        """
        if self._last >= 0 and question == self._question and looks_same(self._before, observation):
            self._futile.add(self._last)
        else:
            self._futile.clear()
        left = mask.copy()
        left[list(self._futile)] = False
        if not left.any():
            self._futile.clear()
            left = mask
        self._before, self._question = observation, question
        self._last = int(self._actor.act([observation], left[None], None)[0])
        return self._last


def looks_same(one: Any, other: Any) -> bool:
    """Return whether two observations are equal, ignoring HISTORY in a dict of several observations."""
    if isinstance(one, dict):
        names = [name for name in one if name != HISTORY]
        return bool(names) and all(looks_same(one[name], other[name]) for name in names)
    if isinstance(one, tuple):  # a graph
        return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)
