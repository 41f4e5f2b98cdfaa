"""Vectors of environments, without a Python process between them and their compilers."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from numpy.typing import NDArray

from burnish.core.argument_checks import whole_number_in
from burnish.core.errors import InputError, UnknownName
from burnish.core.view import Mask
from burnish.envs.env import Env, First, Next
from burnish.envs.env_arguments import RESET_OPTIONS, check_reset_options
from burnish.workers.worker import Limits, Worker, gathered, wait

# Single-threaded workers per core: fewer wait longer for the slowest, more evict each other from the caches.
WORKERS_A_CORE = 4

Batch = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Environments whose compilers run in parallel, in a few shared worker processes.

    A step is one message per worker, with the actions of all its environments. A crash, a hang or a kill in
    one environment costs the worker's other environments only time. Observations are batched as Gymnasium
    batches them; `infos["mask"]` and `action_masks()` are bool[num_envs, n].
    """

    def __init__(
        self,
        make: Callable[[], Env] | Sequence[Callable[[], Env]],
        num_envs: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        workers: int | None = None,
        threads: int | None = None,
    ) -> None:
        """Make the environments.

        Args:
            make: A function that makes an environment, or one function per environment.
            num_envs: The number of environments; by default, the number of functions.
            autoreset_mode: The time when finished environments reset: one of Gymnasium's three modes.
            workers: The most worker processes; by default one per core, or WORKERS_A_CORE with one thread.
            threads: Threads per process; by default one per core if several sessions of the task may work at
                the same time (Task.threads), else one.

        Raises:
            InputError: there are no environments, or their spaces differ.
        """
        for name, value in (("num_envs", num_envs), ("workers", workers), ("threads", threads)):
            if value is not None:
                whole_number_in(name, value, 1)
        makers = [make] * (num_envs or 1) if callable(make) else list(make)
        if not makers or num_envs not in (None, len(makers)):
            raise InputError(f"{len(makers)} functions for {num_envs} environments")
        modes = [mode.value for mode in AutoresetMode]
        if autoreset_mode not in (*modes, *AutoresetMode):
            raise UnknownName.among("autoreset mode", autoreset_mode, modes)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.envs = [maker() for maker in makers]
        self.num_envs = len(self.envs)
        first = self.envs[0]
        if any(env.observation_space != first.observation_space for env in self.envs) or any(
            env.action_space != first.action_space for env in self.envs
        ):
            self.close()
            raise InputError("the environments of a vector must have the same observations and actions")
        for i, env in enumerate(self.envs):  # so that two environments have the same program only by chance
            env.sampler.restart(i)
            env.sampler.stride = self.num_envs
        self.metadata = first.metadata | {"autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_action_space = first.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.single_observation_space = first.observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._seen: list[Any] = [None] * self.num_envs
        self._done = np.zeros(self.num_envs, dtype=bool)
        self._begun: dict[int, tuple[int, Callable[[], Next]]] = {}  # (number of its call, its finish())
        cores = len(os.sched_getaffinity(0))
        threads = threads or (cores if first.task.threads else 1)
        self._groups = self._share(workers or cores * (1 if threads > 1 else WORKERS_A_CORE), threads)
        if len(self._groups) >= cores:  # spinning would take a core from a worker
            for shared, _ in self._groups:
                for worker in shared:
                    worker.spin_seconds = 0.0

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those in `options["reset_mask"]`; an integer seeds the i-th by seed + i.

        Raises:
            InputError: the number of seeds or of entries in the mask is not that of environments.
        """
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = [None] * self.num_envs if seeds is None else list(seeds)
        options = check_reset_options(options, (*RESET_OPTIONS, "reset_mask"))
        chosen = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, dtype=bool)))
        if len(seeds) != self.num_envs or chosen.shape != (self.num_envs,) or chosen.dtype != bool:
            raise InputError(f"expected {self.num_envs} seeds and as many booleans in reset_mask")
        self._begun = {i: begun for i, begun in self._begun.items() if not chosen[i]}
        infos: dict[str, Any] = {}
        for i, info in self._restart([int(i) for i in np.flatnonzero(chosen)], seeds, options).items():
            infos = self._add_info(infos, info, i)
        return self._batch(), infos

    def step(self, actions: Any) -> Batch:
        """Apply an action in each environment; finished ones reset, according to the autoreset mode.

        Raises:
            IllegalAction: a mask forbids an action; no environment has changed.
            ResetNeeded: an environment is finished, and the autoreset mode is DISABLED.
            InputError: the number of actions is wrong, or a step of `send` has not been returned by `ready`.
        """
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise gymnasium.error.ResetNeeded("reset the finished environments: options={'reset_mask': ...}")
        if self._begun:
            raise InputError(f"{len(self._begun)} steps were sent: wait for them with ready()")
        choices = list(actions)
        if len(choices) != self.num_envs:
            raise InputError(f"{len(choices)} actions; expected {self.num_envs}, one for each environment")
        for going in np.flatnonzero(~self._done):
            self._check(self.envs[going], choices[going])
        rewards = np.zeros(self.num_envs)
        terminations, truncations = np.zeros((2, self.num_envs), dtype=bool)
        infos: dict[str, Any] = {}
        final: dict[int, dict[str, Any]] = {}
        try:
            self._in_groups(lambda i: self._begin(i, choices[i]))
            while self._begun:
                for i, (seen, rewards[i], terminations[i], truncations[i], info) in self.ready():
                    if self._done[i] and self.autoreset_mode == AutoresetMode.SAME_STEP:
                        final[i] = {"final_obs": seen, "final_info": info}
                    else:  # at once, while other compilers still work
                        infos = self._add_info(infos, info, i)
        finally:  # after Ctrl-C, the other results are not read
            self._begun.clear()
        for i, info in self._restart(list(final)).items():
            infos = self._add_info(infos, final[i] | info, i)
        return self._batch(), rewards, terminations, truncations, infos

    def send(self, number: int, action: int) -> None:
        """Start a step in one environment, or its next episode if the last is over; see `ready`.

        Raises:
            IllegalAction: the mask forbids the action; nothing has changed.
        """
        if not self._done[number]:
            self._check(self.envs[number], action)
        self._begin(number, action)

    def ready(self, until: float = math.inf) -> list[tuple[int, Next]]:
        """Wait for sent steps; return the finished ones, with their environments' numbers.

        The wait ends at the time `until`, by time.monotonic(), even if no step has finished.

        Passes differ a hundredfold in time, so cores stand idle if all environments wait for the slowest.
        Instead, `send` the next action to each environment as soon as it is ready.
        """
        done = self._answered()
        while self._begun and not done:
            busy = {worker for i in self._begun if (worker := self.envs[i].worker)}
            first = min(worker.deadline for worker in busy)
            found = wait(list(busy), min(first, until) - time.monotonic())
            if not found and until <= min(first, time.monotonic()):
                break
            for worker in found or [worker for worker in busy if time.monotonic() >= worker.deadline]:
                worker.hear()
            done = self._answered()
        steps = []
        for i in done:
            self._seen[i], *rest = step = self._begun.pop(i)[1]()
            self._done[i] = rest[1] or rest[2]
            steps.append((i, step))
        return steps

    def give_up(self) -> None:
        """Kill the compilers of all steps that were sent; reset their environments afterwards."""
        for i in self._begun:
            if worker := self.envs[i].worker:
                worker.close()
        self._begun.clear()

    def action_masks(self) -> Mask:
        """Return the masks of legal actions: bool[num_envs, n]."""
        return np.stack([env.action_masks() for env in self.envs])

    def call(self, name: str, *arguments: Any, **keywords: Any) -> tuple[Any, ...]:
        """Call a method of each environment, or get an attribute of each; return all values."""
        found = [getattr(env, name) for env in self.envs]
        return tuple(item(*arguments, **keywords) if callable(item) else item for item in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return the attribute of each environment."""
        return self.call(name)

    def render(self) -> tuple[Any, ...]:
        """Return each environment's text."""
        return self.call("render")

    def close_extras(self, **kwargs: Any) -> None:
        """End the worker processes."""
        for env in self.envs:
            env.close()

    def _check(self, env: Env, action: int) -> None:
        """Raise IllegalAction if the mask forbids an action, before any environment steps."""
        mask = env.action_masks()
        if not hasattr(action, "__index__") or not 0 <= action < len(mask) or not mask[action]:
            env.step(action)

    def _share(self, most: int, threads: int) -> list[tuple[list[Worker], list[int]]]:
        """Assign the environments to at most `most` workers for each Limits, in turn; return the groups."""
        first: dict[tuple[Limits, int] | None, Env] = {}
        groups: dict[Worker | None, list[int]] = {}
        for i, env in enumerate(self.envs):
            other = first.setdefault((env.worker.limits, i % most) if env.worker else None, env)
            if env.worker:
                env.worker.threads = threads
            if env.worker is not other.worker:
                env.work_with(other)
            groups.setdefault(env.worker, []).append(i)
        return [([worker] if worker else [], numbers) for worker, numbers in groups.items()]

    def _begin(self, number: int, action: int) -> None:
        """Begin a step, or an episode if the last is over."""
        env = self.envs[number]
        begun = partial(_as_step, env.begin_reset()) if self._done[number] else env.begin_step(action)
        self._begun[number] = (env.worker.begun if env.worker else 0, begun)

    def _restart(
        self,
        numbers: Sequence[int],
        seeds: Sequence[int | None] = (),
        options: dict[str, Any] | None = None,
    ) -> dict[int, dict[str, Any]]:
        """Begin an episode in some environments, and return their infos by number."""
        begun: dict[int, Callable[[], First]] = {}

        def begin(i: int) -> None:
            if i in numbers:
                begun[i] = self.envs[i].begin_reset(seed=seeds[i] if seeds else None, options=options)

        infos = {}
        self._in_groups(begin)
        for i in numbers:
            self._seen[i], infos[i] = begun[i]()
            self._done[i] = False
        return infos

    def _in_groups(self, begin: Callable[[int], None]) -> None:
        """Call `begin` for each environment; send one message per worker, as soon as it is complete."""
        for workers, numbers in self._groups:
            with gathered(workers):
                for i in numbers:
                    begin(i)

    def _answered(self) -> list[int]:
        """Return the begun environments whose results are ready; without a worker, all are ready."""
        workers = {i: self.envs[i].worker for i in self._begun}
        return [i for i, worker in workers.items() if not worker or worker.answered >= self._begun[i][0]]

    def _batch(self) -> Any:
        space = self.single_observation_space
        empty: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, self._seen, empty)


def _as_step(begun: Callable[[], First]) -> Next:
    observed, info = begun()
    return observed, 0.0, False, False, info
