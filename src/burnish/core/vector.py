"""Many environments at a time, without a Python process between them and their compilers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from burnish.core.env import Env, First, Next
from burnish.core.errors import InputError
from burnish.core.view import Mask
from burnish.core.worker import wait

Batch = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Environments whose compilers work at the same time, each in its own worker process.

    It is what Gymnasium's AsyncVectorEnv would be, with half of the processes: the workers are the
    environments' own. Observations are batched as Gymnasium batches them; `infos["mask"]` and
    `action_masks()` are bool[num_envs, n].
    """

    def __init__(
        self,
        make: Callable[[], Env] | Sequence[Callable[[], Env]],
        num_envs: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        """Make the environments.

        Args:
            make: A function that makes one, or one function for each.
            num_envs: How many; by default as many as there are functions.
            autoreset_mode: When finished environments begin again: Gymnasium's three.

        Raises:
            InputError: there are none, or their spaces differ.
        """
        makers = [make] * (num_envs or 1) if callable(make) else list(make)
        if not makers or num_envs not in (None, len(makers)):
            raise InputError(f"{len(makers)} functions for {num_envs} environments")
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.envs = [maker() for maker in makers]
        self.num_envs = len(self.envs)
        first = self.envs[0]
        if any(env.observation_space != first.observation_space for env in self.envs) or any(
            env.action_space != first.action_space for env in self.envs
        ):
            self.close()
            raise InputError("the environments of a vector have the same observations and actions")
        for i, env in enumerate(self.envs):  # no two play the same program, but by chance
            env.turns.restart(i)
            env.turns.stride = self.num_envs
        self.metadata = first.metadata | {"autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_action_space = first.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.single_observation_space = first.observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._seen: list[Any] = [None] * self.num_envs
        self._done = np.zeros(self.num_envs, dtype=bool)
        self._begun: dict[int, Callable[[], Next]] = {}
        if self.num_envs >= len(os.sched_getaffinity(0)):  # whoever looks again and again takes a core
            for env in self.envs:
                env.sleep_at_once()

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all, or those of `options["reset_mask"]`; an integer seeds them with numbers in a row.

        Raises:
            InputError: there are not as many seeds, or as many entries in the mask, as environments.
        """
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = [None] * self.num_envs if seeds is None else list(seeds)
        options = dict(options or {})
        chosen = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, dtype=bool)))
        if len(seeds) != self.num_envs or chosen.shape != (self.num_envs,) or chosen.dtype != bool:
            raise InputError(f"expected {self.num_envs} seeds and as many booleans in reset_mask")
        found: list[dict[str, Any]] = [{} for _ in self.envs]
        numbers = np.flatnonzero(chosen)
        self._begun = {i: step for i, step in self._begun.items() if not chosen[i]}
        self._finish_resets(numbers, self._begin_resets(numbers, seeds, options), found)
        self._done[chosen] = False
        return self._batch(), self._infos(found)

    def step(self, actions: Any) -> Batch:
        """Apply an action in each; finished ones begin again, as the autoreset mode says.

        Raises:
            IllegalAction: a mask forbids one; nothing happened in any.
            ResetNeeded: one is finished, and the autoreset mode is DISABLED.
            InputError: a step that was sent has not been waited for.
        """
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise gymnasium.error.ResetNeeded("reset the finished environments: options={'reset_mask': ...}")
        if self._begun:
            raise InputError(f"{len(self._begun)} steps were sent: wait for them with ready()")
        choices = [int(action) for action in iterate(self.action_space, actions)]
        finished, going = np.flatnonzero(self._done), np.flatnonzero(~self._done)
        for i in going:
            self._check(self.envs[i], choices[i])
        steps = [self.envs[i].begin_step(choices[i]) for i in going]
        resets = self._begin_resets(finished)
        rewards = np.zeros(self.num_envs)
        terminations, truncations = np.zeros((2, self.num_envs), dtype=bool)
        found: list[dict[str, Any]] = [{} for _ in self.envs]
        for i, finish in zip(going, steps, strict=True):
            self._seen[i], rewards[i], terminations[i], truncations[i], found[i] = finish()
        self._finish_resets(finished, resets, found)
        self._done = terminations | truncations
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            finished = np.flatnonzero(self._done)
            for i in finished:
                found[i] = {"final_obs": self._seen[i], "final_info": found[i]}
            self._finish_resets(finished, self._begin_resets(finished), found)
            self._done = np.zeros(self.num_envs, dtype=bool)
        return self._batch(), rewards, terminations, truncations, self._infos(found)

    def send(self, number: int, action: int) -> None:
        """Start a step in one environment, or its next episode where the last is over; see `ready`.

        Raises:
            IllegalAction: the mask forbids it; nothing happened.
        """
        env = self.envs[number]
        if self._done[number]:
            first = env.begin_reset()
            self._begun[number] = lambda: _as_step(first())
        else:
            self._check(env, action)
            self._begun[number] = env.begin_step(action)

    def ready(self) -> list[tuple[int, Next]]:
        """Wait for steps that were sent; return those that are done, with their environments' numbers.

        Passes differ a hundredfold in time, so where all wait for the slowest, cores stand idle: `send`
        the next action to each environment when it is ready, and none waits for another.
        """
        workers = {env.worker: i for i, env in enumerate(self.envs) if i in self._begun and env.worker}
        if len(workers) < len(self._begun):
            done = [i for i in self._begun if not self.envs[i].worker]  # in this process, when waited for
        elif not workers:
            return []
        else:
            first = min(worker.deadline for worker in workers)
            found = wait(list(workers), first - time.monotonic())
            done = [workers[w] for w in found or workers if found or time.monotonic() >= w.deadline]
        steps = []
        for i in done:
            self._seen[i], *rest = step = self._begun.pop(i)()
            self._done[i] = rest[1] or rest[2]
            steps.append((i, step))
        return steps

    def action_masks(self) -> Mask:
        """Return what is legal now: bool[num_envs, n]."""
        return np.stack([env.action_masks() for env in self.envs])

    def call(self, name: str, *arguments: Any, **keywords: Any) -> tuple[Any, ...]:
        """Return what the method of each environment returns, or the attribute of each."""
        found = [getattr(env, name) for env in self.envs]
        return tuple(item(*arguments, **keywords) if callable(item) else item for item in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return the attribute of each environment."""
        return self.call(name)

    def render(self) -> tuple[Any, ...]:
        """Return what each environment renders."""
        return self.call("render")

    def close_extras(self, **kwargs: Any) -> None:
        """End the worker processes."""
        for env in self.envs:
            env.close()

    def _check(self, env: Env, action: int) -> None:
        """Raise IllegalAction, before anything happens in the others."""
        mask = env.action_masks()
        if not 0 <= action < len(mask) or not mask[action]:
            env.step(action)

    def _begin_resets(
        self,
        chosen: NDArray[np.intp],
        seeds: Sequence[int | None] = (),
        options: dict[str, Any] | None = None,
    ) -> list[Callable[[], First]]:
        return [self.envs[i].begin_reset(seed=seeds[i] if seeds else None, options=options) for i in chosen]

    def _finish_resets(
        self, chosen: NDArray[np.intp], resets: list[Callable[[], First]], found: list[dict[str, Any]]
    ) -> None:
        for i, finish in zip(chosen, resets, strict=True):
            self._seen[i], info = finish()
            found[i] |= info

    def _infos(self, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for i, info in enumerate(found):
            infos = self._add_info(infos, info, i)
        return infos

    def _batch(self) -> Any:
        space = self.single_observation_space
        empty: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, self._seen, empty)


def _as_step(first: First) -> Next:
    observed, info = first
    return observed, 0.0, False, False, info
