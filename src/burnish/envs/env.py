"""The Gymnasium environment of all tasks."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from burnish.core.argument_checks import names_in, path_in
from burnish.core.errors import (
    CompilerCrash,
    IllegalAction,
    InputError,
    ProgramError,
    ReplayError,
    UnknownName,
)
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, entry, split_entry
from burnish.core.view import Mask, Start, Step, View
from burnish.envs.env_arguments import check_kinds, check_reset_options, steps_in
from burnish.envs.env_spaces import ActionSpace, ObservationSpace, as_member
from burnish.envs.episodes import EpisodeLog, EpisodeRecord
from burnish.envs.graphs import observed_networkx
from burnish.envs.opened import OpenProgram, check_language
from burnish.envs.program_sampler import Order, Programs, ProgramSampler
from burnish.envs.reward import (
    FAILURE_REWARD,
    FailureReward,
    RewardFunction,
    failure_rewards,
    reward_of,
)
from burnish.envs.state import EnvState, state_in
from burnish.workers.worker import Limits, Worker

if TYPE_CHECKING:
    from networkx import MultiDiGraph

First = tuple[Any, dict[str, Any]]
Next = tuple[Any, float, bool, bool, dict[str, Any]]

MOST_SKIPPED = 20  # most programs in a row that are skipped because they cannot be opened


class Env(gymnasium.Env[Any, int]):
    """An environment: one program per episode, one action per step; the default reward is the log cost ratio.

    Action: Discrete((1 + sites) * n). Index `s * n + a` is action `a` of n: on the whole program (s = 0), or
    at the s-th of the program's sites, in the session's order.

    Observation: one of the task's observations, or a Dict of several.

    `info` has `mask` (bool[(1 + sites) * n], the legal actions; also `action_masks()`), `cost` (if it was
    measured), `program`, `question` (the site that the compiler asks about). After a reset, `info` may have
    `baselines` and `skipped` (programs that cannot be opened); after a crash `error`, `failure` (its class).

    terminated: no action is legal, or the compiler crashed. After a crash, the reward is `failure_reward` and
    the observation is the previous one. truncated: the episode has `max_steps` steps.

    Pickling and copy.deepcopy keep the episode: the copy replays the trace in a worker process of its own.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        task: Task,
        programs: Programs,
        *,
        observation: str | Sequence[str] | None = None,
        objective: str | None = None,
        reward: str | RewardFunction = "log",
        baselines: Sequence[str] = (),
        actions: Sequence[str] | None = None,
        sites: int = 0,
        max_steps: int | None = None,
        order: Order = "cycle",
        weights: Sequence[float] | None = None,
        dense: bool | None = None,
        failure_reward: FailureReward = FAILURE_REWARD,
        log: str | os.PathLike[str] | None = None,
        limits: Limits | None = Limits(),
        render_mode: str | None = None,
    ) -> None:
        """Make an environment.

        Args:
            task: The task that optimizes the programs.
            programs: One program, several, or a function from a number to a program, for an endless supply.
                A program of a sequence is read at its turn.
            observation: One or more names of the task's observations; by default the task's first one.
            objective: The name of a task's objective; by default the task's first one.
            reward: "log", "difference" or "over-<a baseline>": see burnish.envs.reward; or a function from a
                step's cost before and its cost after to the reward.
            baselines: The baselines whose costs are in `info` after each reset.
            actions: The names of the available actions; by default all of the task's actions.
            sites: The number of a program's sites that accept actions, beside the whole program.
            max_steps: Steps per episode; by default the task's own number.
            order: The order of the programs: "cycle", "shuffle" or "sample". reset(seed=) seeds the order.
            weights: The programs' weights, for "sample"; by default equal.
            dense: Reward every step, or only the last; by default, dense if the objective is.
            failure_reward: The reward of a crash, or rewards by class of failure: see burnish.envs.reward.
            log: A file to which each episode is appended as a line of JSON.
            limits: Of the worker process; None runs the compiler in this process, which a crash then ends.
            render_mode: "ansi": render() returns the state's digest, its cost and the trace as text.

        Raises:
            InputError: `programs` is empty, a program is in another language, or the weights do not fit.
            UnknownName: no such observation, objective, reward, baseline, action or order.
        """
        self._arguments = {name: value for name, value in locals().items() if name != "self"}
        self.task = task
        self.sampler = ProgramSampler(programs, order, weights)
        if isinstance(self.programs, (list, tuple)):
            for program in self.programs:
                check_language(task, program)
        self.objective = task.objective(objective)
        self._observations = ObservationSpace(task, observation)
        self.observation_space = self._observations.space
        self._baselines = names_in("baselines", baselines)
        self._choice = ActionSpace(task, actions, sites)
        self.actions = self._choice.names
        self.action_space = self._choice.space  # type: ignore[assignment]
        self.max_steps = steps_in(max_steps) or task.max_steps  # None: until no action is legal
        self.dense = self.objective.dense if dense is None else dense
        self._failure_reward = failure_rewards(failure_reward)
        self.render_mode = render_mode
        check_kinds(dense, limits, render_mode)
        self.worker = Worker(limits) if limits else None
        self._view = View(self._observations.names, self.objective.name, sites)
        self._unmeasured = View(self._observations.names, None, sites)
        self._opened = OpenProgram(task, self.worker, self._view)
        self._use_reward(reward)
        self._log = EpisodeLog(path_in("log", log, "episodes.jsonl")) if log else None
        self._program: Program | None = None
        self._session: Session | None = None
        self.sites: tuple[str, ...] = (WHOLE_PROGRAM,)
        self._mask: Mask = self._choice.nothing()
        self._last: Any = None
        self._cost = self._unit = math.nan
        self._steps, self.question, self._forked = 0, "", False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> First:
        """Open the next program, and begin an episode.

        Options: `program` is opened instead of the next one: a Program, or the name of one of the programs,
        or any other name that the task's source takes, such as a file. `reward` replaces the reward of this
        and later episodes. `state`, an EnvState, is restored, in its program.

        A seed restarts the order: the same seed gives the same episodes. With the order "cycle", the seed is
        also the number of the first program (modulo their count). Programs that cannot be opened are skipped.

        Raises:
            InputError: `options["program"]` names no program, or the state does not fit.
            ReplayError: the state's trace cannot be applied.
            UnknownName: an option or a reward is unknown.
            ProgramError: the program in `options`, every program, or MOST_SKIPPED in a row cannot be opened.
        """
        return self.begin_reset(seed=seed, options=options)()

    def step(self, action: int) -> Next:
        """Apply one action.

        Raises:
            IllegalAction: the mask forbids the action; nothing has changed.
        """
        return self.begin_step(action)()

    def multistep(self, actions: Sequence[int]) -> Next:
        """Apply several actions, but measure and observe once; the reward is the sum of their rewards.

        Raises:
            IllegalAction: an action is illegal in its state; the actions before it are applied.
            InputError: there are no actions.
        """
        if not len(actions):
            raise InputError("multistep needs at least one action")
        session = self.session
        for action in actions[:-1]:
            index, site = self._choice.decode(action, self.sites)
            try:
                session.apply(index, site)
            except CompilerCrash as error:
                return self._crashed(error, index, site)
            self._steps += 1
        return self.step(actions[-1])

    def pass_step(self) -> Next:
        """Count a step without an action; if it is the last one, the episode ends as by `stop`."""
        self._steps += 1
        if self.max_steps is not None and self._steps >= self.max_steps:
            return self._ended("truncated")
        self._mask = self._mask.copy()  # users keep the last step's
        return self._last, 0.0, False, False, self._info(self._cost if self.dense else None)

    def begin_reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Callable[[], First]:
        """Start a reset, and return the function that waits for its result; for parallel environments."""
        super().reset(seed=seed)
        if seed is not None:
            self.sampler.restart(seed)
        given = check_reset_options(options)
        if "reward" in given:
            self._use_reward(given["reward"])
        state = state_in(given.get("state"))
        wanted = given.get("program", state.program if state else None)
        program = self.sampler.next(self.np_random) if wanted is None else self._find(wanted)
        if state:
            state.check(self.task, program)
        return partial(self._finish_reset, program, self._begin(program), wanted is None, state)

    def _find(self, wanted: str | Program) -> Program:
        """Return one of this environment's programs, or another one that the task's source opens by name."""
        try:
            return self.sampler.find(wanted)
        except InputError as unknown:
            source = self.task.source()
            if not (isinstance(wanted, str) and source.takes(wanted)):
                raise
            try:
                return source.load(wanted).program
            except ProgramError:
                raise
            except InputError as error:
                raise InputError(f"{error}; {unknown}") from None

    def begin_step(self, action: int) -> Callable[[], Next]:
        """Start a step, and return the function that waits for its result; for parallel environments."""
        index, site = self._choice.decode(action, self.sites)
        last = self.max_steps is not None and self._steps + 1 >= self.max_steps
        view = self._view if self.dense or last else self._unmeasured
        if self._log:
            self._log.expect()
        begun = self.session.begin_step(index, site, view, self.sites)
        return partial(self._finish_step, begun, index, site, last)

    def stop(self) -> Next:
        """End the episode in this state; an objective that is not dense is measured now."""
        return self._ended("stopped")

    def action_masks(self) -> Mask:
        """Return the mask of legal actions, bool[action_space.n]. The method's name is sb3-contrib's."""
        return self._mask

    def observe(self, name: str) -> Any:
        """Return any of the task's observations of this state, or raise UnknownName."""
        return as_member(self.session.observe(self.task.observation(name).name))

    def networkx(self, name: str) -> MultiDiGraph[int]:
        """Return a graph observation of this state as a networkx graph: see burnish.envs.graphs.

        Raises:
            UnknownName, InputError: the task has no such observation, or it is not a graph.
            MissingTool: networkx is not installed.
        """
        return observed_networkx(self.task, self.session, name)

    def reward(self, form: str | RewardFunction | None = None, objective: str | None = None) -> float:
        """Measure the reward of one step from the program to this state, in any form and by any objective.

        If the form telescopes, this is the return of the episode so far. The defaults are this environment's.

        Raises:
            CompilerCrash: the compiler fails.
            NotMeasurable: the program does not have this cost.
            UnknownName: the reward or the objective is unknown.
        """
        reward = self._reward if form is None else reward_of(self.task, form)
        goal = self.objective.name if objective is None else self.task.objective(objective).name
        unit = reward.unit([self._opened.cost(self.program, goal, name) for name in reward.baselines])
        return reward.of(self._opened.cost(self.program, goal), self.session.measure(goal), unit)

    @property
    def state(self) -> EnvState:
        """The state as a value, which can be stored, sent and restored."""
        return EnvState(
            task=self.task.id,
            program=self.program.name,
            digest=self.program.digest,
            trace=self.trace,
            objective=self.objective.name,
            cost=self._cost,
            state=self.session.digest(),
            options=dict(self.task.options),
        )

    def restore(self, state: EnvState) -> First:
        """Begin an episode in a state: the same as reset(options={"state": state})."""
        return self.reset(options={"state": state})

    def render(self) -> str:
        """Return the state's digest, its cost and the trace as text."""
        return "\n".join([f"{self.session.digest()[:8]}  {self._cost:g} {self.objective.unit}", *self.trace])

    def commandline(self) -> str:
        """Return the command of another tool that leads from the program to this state.

        Raises:
            InputError: the task has no such tool, or the tool has no equivalent of an action.
        """
        if not self.task.checks.commandline:
            raise InputError(f"{self.task.id}: no compiler command reproduces a state")
        return self.task.checks.commandline(self.trace)

    def fork(self) -> Env:
        """Return a second environment in the same state of the same episode.

        Both continue independently, in one worker process; closing the original ends the process for both.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._session = self.session.fork()
        twin._opened = copy.copy(self._opened)
        twin.sampler = copy.deepcopy(self.sampler)
        twin._np_random = copy.deepcopy(self._np_random)
        twin._log = None
        twin._forked = True
        return twin

    def close(self) -> None:
        """End the worker process; of a fork, only the session."""
        if self._log:
            self._log.abandon()
        if self._forked and self._session:
            self._session.close()
        self._session = None
        self._opened.close()
        if self.worker and not self._forked:
            self.worker.close()

    def work_with(self, other: Env) -> None:
        """Move to another environment's worker, and share its open programs; call this before an episode."""
        self.worker = other.worker
        self._opened.share(other._opened)

    def __reduce__(self) -> tuple[Any, ...]:
        state = None
        with suppress(CompilerCrash, gymnasium.error.ResetNeeded):  # a crashed episode is not continued
            state = self.state
        return _continued, (type(self), self._arguments, self.sampler, self._np_random, self._program, state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Env:
        make, (kind, arguments, sampler, rng, program, state) = self.__reduce__()
        twin: Env = make(kind, arguments, copy.deepcopy(sampler), copy.deepcopy(rng), program, state)
        return twin

    @property
    def programs(self) -> Sequence[Program] | Callable[[int], Program]:
        """The source of the episodes' programs."""
        return self.sampler.programs

    @property
    def session(self) -> Session:
        """The open session, for forks and further observations."""
        if self._session is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._session

    @property
    def program(self) -> Program:
        """The program of this episode."""
        if self._program is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._program

    @property
    def trace(self) -> tuple[str, ...]:
        """The entries that were applied in this episode."""
        return tuple(self.session.trace)

    @property
    def cost(self) -> float:
        """The last measured cost."""
        return self._cost

    def _use_reward(self, given: str | RewardFunction) -> None:
        self._reward = reward_of(self.task, given)
        wanted = dict.fromkeys((*self._reward.baselines, *self._baselines))
        self._opened.baselines = {name: self.task.baseline(name) for name in wanted}
        self._arguments["reward"] = given

    def _begin(self, program: Program) -> Callable[[], tuple[Session, Start]]:
        check_language(self.task, program)
        if self._log:
            self._log.abandon()
        if self._session:
            self._session.close()
            self._session = None
        return self._opened.begin(program)

    def _finish_reset(
        self,
        program: Program,
        begun: Callable[[], tuple[Session, Start]],
        in_turn: bool,
        state: EnvState | None,
    ) -> First:
        skipped: list[str] = []
        most = min(self.sampler.count or MOST_SKIPPED, MOST_SKIPPED)
        while True:
            try:
                self._session, start = begun()
                break
            except ProgramError as error:
                skipped.append(program.name)
                if not in_turn or len(skipped) == most:
                    raise
                gymnasium.logger.warn(f"skipped: {error}")
                program = self.sampler.next(self.np_random)
                begun = self._begin(program)
        self._program = program
        self.sites, self.question = start.sites, start.question
        self._steps, self._cost = 0, start.cost
        self._last = self._observations.member(start.observed)
        self._mask = self._choice.legal(start.mask)
        costs = self._opened.baseline_costs(program)
        self._unit = self._reward.unit([costs[name] for name in self._reward.baselines])
        if self._log:
            self._log.begin(self._episode(costs))
        if state:
            self._replay(state)
        more = {"baselines": costs} if costs else {}
        return self._last, self._info(self._cost) | more | ({"skipped": skipped} if skipped else {})

    def _replay(self, state: EnvState) -> None:
        """Apply a state's trace, and observe its end.

        The sites keep their places as in the original episode, because each entry is a step.

        Raises:
            ReplayError: an entry cannot be applied, or the compiler fails.
        """
        for length, text in enumerate(state.trace, 1):
            site, action = split_entry(text)
            last = length == len(state.trace)
            view = self._view if last and self.dense else self._unmeasured
            try:
                step = self.session.begin_step(self.session.index(action), site, view, self.sites)()
            except (CompilerCrash, IllegalAction, UnknownName) as error:
                raise ReplayError(f"{self.program.name}: the state is not reached: {error}") from None
            self.sites, self.question = step.sites, step.question
            self._steps += 1
            if step.cost is not None:
                self._cost = step.cost
            self._write(step.entry, 0.0, step.cost)
            if last:
                self._mask = self._choice.legal(step.mask)
                self._last = self._observations.member(step.observed)
        if self.session.digest() != state.state:
            gymnasium.logger.warn(
                f"{self.program.name}: the trace leads to another state than before; the compiler has changed"
            )

    def _finish_step(self, begun: Callable[[], Step], index: int, site: str, last: bool) -> Next:
        try:
            step = begun()
            self.sites, self.question = step.sites, step.question
            self._mask = self._choice.legal(step.mask)
            terminated = not self._mask.any()
            cost = step.cost
            if cost is None and terminated:
                cost = self.session.measure(self.objective.name)
        except CompilerCrash as error:
            return self._crashed(error, index, site)
        self._steps += 1
        self._last = self._observations.member(step.observed)
        reward = 0.0 if cost is None else self._reward.of(self._cost, cost, self._unit)
        self._cost = self._cost if cost is None else cost
        self._write(step.entry, reward, cost)
        if self._log and (terminated or last):
            self._log.end("terminated" if terminated else "truncated")
        return self._last, reward, terminated, last, self._info(cost)

    def _crashed(self, error: CompilerCrash, index: int | None = None, site: str = WHOLE_PROGRAM) -> Next:
        self._mask = self._choice.nothing()
        reward = self._failure_reward(error)
        if index is not None:
            self._write(entry(self.task.actions[index], site or self.question), reward, None)
        if self._log:
            self._log.end("crashed", str(error))
        said = {"error": str(error), "failure": type(error).__name__}
        return self._last, reward, True, False, self._info(None) | said

    def _ended(self, how: str) -> Next:
        """End the episode, "stopped" or "truncated", without an action."""
        cost = self._cost
        try:
            if not self.dense:
                cost = self.session.measure(self.objective.name)
        except CompilerCrash as error:
            return self._crashed(error)
        reward = 0.0 if self.dense else self._reward.of(self._cost, cost, self._unit)
        self._cost, self._mask = cost, self._choice.nothing()
        if self._log:
            self._log.end(how)
        return self._last, reward, how == "stopped", how == "truncated", self._info(cost)

    def _info(self, cost: float | None) -> dict[str, Any]:
        asked = {"question": self.question} if self.question else {}
        measured = {} if cost is None else {"cost": cost}
        return {"mask": self._mask, "program": self.program.name} | measured | asked

    def _episode(self, costs: dict[str, float]) -> EpisodeRecord:
        return EpisodeRecord(
            task=self.task.id,
            program=self.program.name,
            digest=self.program.digest,
            objective=self.objective.name,
            reward=self._reward.name,
            start=self._cost,
            baselines=costs,
            began=time.time(),
        )

    def _write(self, text: str, reward: float, cost: float | None) -> None:
        if self._log:
            self._log.step(text, reward, cost)


def _continued(
    kind: type[Env],
    arguments: dict[str, Any],
    sampler: ProgramSampler,
    rng: np.random.Generator | None,
    program: Program | None,
    state: EnvState | None,
) -> Env:
    """Make an environment as another one was, in the state of the other's episode."""
    env = kind(**arguments)
    env.sampler, env._np_random = sampler, rng
    if program and state:
        env.reset(options={"program": program, "state": state})
    return env
