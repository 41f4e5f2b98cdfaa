"""The one Gymnasium environment, for every task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from burnish.core.errors import CompilerCrash, IllegalAction, InputError
from burnish.core.program import Program
from burnish.core.sandbox import Sandbox
from burnish.core.session import Mask, Session
from burnish.core.spaces import as_member, space_of
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.worker import Limits, Worker


def log_reward(before: float, after: float) -> float:
    """log(before / after): the rewards of an episode add up to log(start / final) on any path."""
    return math.log(before / after)


class Env(gymnasium.Env[Any, int]):
    """One program per episode; an action per step; the reward is log(cost before / cost after).

    Action: Discrete((1 + sites) * n). Index `s * n + a` is action `a` at the whole program (s = 0) or
    at the s-th of the program's sites, in the order in which the session names them.

    Observation: one of the task's observations, by name.

    `info` has `mask` (bool[(1 + sites) * n]: what is legal now; also `action_masks()`), `cost` (None
    where it was not measured), `program`, and after a crash `error`.

    terminated: nothing is legal any more, or the compiler crashed (the reward is then
    `failure_reward`, the observation the last one that there was). truncated: `max_steps` reached.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        task: Task,
        programs: Program | Sequence[Program],
        *,
        observation: str | None = None,
        objective: str | None = None,
        max_steps: int | None = None,
        sites: int = 0,
        dense: bool | None = None,
        failure_reward: float = -1.0,
        limits: Limits | None = Limits(),  # noqa: B008 - frozen
        render_mode: str | None = None,
    ) -> None:
        """Make an environment.

        Args:
            task: What the programs are optimized by.
            programs: Taken one per episode, in turn.
            observation: Its name in the task; the first one by default.
            objective: Its name in the task; the first one by default.
            max_steps: Steps per episode; the task's own number by default.
            sites: How many of a program's sites can be acted on, beside the whole program.
            dense: Reward every step, or only the last; by default as the objective says.
            failure_reward: What a crash costs.
            limits: Of the worker process; None runs the compiler in this process: nothing is caught.
            render_mode: "ansi": render() returns the program, the cost and the trace as text.

        Raises:
            InputError: there is no program, or one is of another language.
            UnknownName: no such observation or objective.
        """
        self.task = task
        self.programs = [programs] if isinstance(programs, Program) else list(programs)
        if not self.programs:
            raise InputError("an environment needs at least one program")
        for program in self.programs:
            if program.language != task.language:
                raise InputError(
                    f"{program.name}: {task.id} opens {task.language!r}, not {program.language!r}"
                )
        self.objective = task.objective(objective)
        self._observation = task.observation(observation)
        self.max_steps = max_steps or task.max_steps
        self.dense = self.objective.dense if dense is None else dense
        self.failure_reward = failure_reward
        self.render_mode = render_mode
        self._action_count = (1 + sites) * len(task.actions)
        self.action_space = gymnasium.spaces.Discrete(self._action_count)  # type: ignore[assignment]
        self.observation_space = space_of(self._observation)
        self._limits = limits
        self._worker = Worker(limits) if limits else None
        self._site_count = sites
        self._next = 0
        self._program = self.programs[0]
        self._root: tuple[str, Session] | None = None
        self._session: Session | None = None
        self._sites: tuple[str, ...] = (WHOLE_PROGRAM,)
        self._mask: Mask = np.zeros(0, dtype=bool)
        self._last: Any = b""
        self._cost = math.nan
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Open the next program, or the one that `options["program"]` names or is.

        With a seed, the turn goes on from the program of that number (modulo how many there are): the
        same seed gives the same episodes, seeds in a row begin with different programs.

        Raises:
            InputError: `options["program"]` is not the name of one of the programs.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._next = seed
        program = self._choose((options or {}).get("program"))
        session = self._open(program)
        self._sites = (WHOLE_PROGRAM, *session.sites()[: self._site_count])
        self._steps = 0
        self._cost = session.measure(self.objective.name)
        self._last = as_member(session.observe(self._observation.name))
        self._mask = self._full_mask(session.mask(self._sites))
        return self._last, self._info(cost=self._cost)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply one action.

        Raises:
            IllegalAction: the mask forbids it; nothing happened.
        """
        session = self._opened()
        number, index = divmod(int(action), len(self.task.actions))
        if not 0 <= number < len(self._sites):
            raise IllegalAction(f"action {action}: the program has {len(self._sites) - 1} sites of that kind")
        last = self._steps + 1 >= self.max_steps
        objective = self.objective.name if self.dense or last else None
        try:
            step = session.step(index, self._sites[number], self._observation.name, objective, self._sites)
            self._mask = self._full_mask(step.mask)
            terminated = not self._mask.any()
            cost = step.cost
            if cost is None and terminated:
                cost = session.measure(self.objective.name)
        except CompilerCrash as error:
            self._mask = np.zeros_like(self._mask)
            return self._last, self.failure_reward, True, False, self._info(error=str(error))
        self._steps += 1
        self._last = as_member(step.observed)
        reward = 0.0
        if cost is not None:
            reward = log_reward(self._cost, cost)
            self._cost = cost
        return self._last, reward, terminated, last, self._info(cost=cost)

    def action_masks(self) -> Mask:
        """Return what is legal now: bool[action_space.n]. The name is sb3-contrib's."""
        return self._mask

    def render(self) -> str:
        """Return the program, its cost and the trace as text."""
        unit = self.objective.unit
        return "\n".join([f"{self.session.digest()[:8]}  {self._cost:g} {unit}", *self.trace])

    def close(self) -> None:
        """End the worker process."""
        self._session = self._root = None
        if self._worker:
            self._worker.close()

    @property
    def session(self) -> Session:
        """The open session: fork it, observe it in other ways."""
        return self._opened()

    @property
    def trace(self) -> tuple[str, ...]:
        """What was applied in this episode."""
        return tuple(self._opened().trace)

    @property
    def cost(self) -> float:
        """The cost that was measured last."""
        return self._cost

    def _choose(self, wanted: str | Program | None) -> Program:
        if isinstance(wanted, Program):
            return wanted
        if wanted is None:
            program = self.programs[self._next % len(self.programs)]
            self._next += 1
            return program
        for program in self.programs:
            if program.name == wanted:
                return program
        raise InputError(f"no program named {wanted!r} in this environment")

    def _open(self, program: Program) -> Session:
        """Open a program; the one of the last episode is forked, not read again."""
        if self._session:
            self._session.close()
        if self._root is None or self._root[0] != program.digest:
            if self._root:
                self._root[1].close()
            root = (
                Sandbox(self.task.open, program, worker=self._worker)
                if self._worker
                else self.task.open(program)
            )
            self._root = (program.digest, root)
        self._program = program
        self._session = self._root[1].fork()
        return self._session

    def _opened(self) -> Session:
        if self._session is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        return self._session

    def _full_mask(self, mask: Mask) -> Mask:
        """Pad with False where the program has fewer sites than the action space."""
        missing = self._action_count - len(mask)
        return np.pad(mask, (0, missing)) if missing else mask

    def _info(self, cost: float | None = None, error: str | None = None) -> dict[str, Any]:
        info = {"mask": self._mask, "cost": cost, "program": self._program.name}
        return info | {"error": error} if error else info
