"""Many environments at a time, without a Python process between them and their compilers."""

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
from burnish.envs.env_arguments import check_reset_options
from burnish.workers.worker import Limits, Worker, gathered, wait

WORKERS_A_CORE = 4  # of one thread: fewer wait longer for the slowest, more push each other out of the caches

Batch = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Environments whose compilers work at the same time, in a few worker processes that they share.

    A step is one message for each worker, with all that its environments are to do; who crashes, hangs or is
    killed there costs the others nothing but time. Observations are batched as Gymnasium batches them;
    `infos["mask"]` and `action_masks()` are bool[num_envs, n].
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
            make: A function that makes one, or one function for each.
            num_envs: How many; by default as many as there are functions.
            autoreset_mode: When finished environments begin again: Gymnasium's three.
            workers: How many processes at most; by default one for each core, WORKERS_A_CORE of one thread.
            threads: Of each process; by default as many as there are cores where the task's sessions may work
                in several (Task.threads), else one.

        Raises:
            InputError: there are none, or their spaces differ.
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
        for i, env in enumerate(self.envs):  # no two play the same program, but by chance
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
        self._begun: dict[int, tuple[int, Callable[[], Next]]] = {}  # with the call that it waits for
        cores = len(os.sched_getaffinity(0))
        threads = threads or (cores if first.task.threads else 1)
        self._groups = self._share(workers or cores * (1 if threads > 1 else WORKERS_A_CORE), threads)
        if len(self._groups) >= cores:  # whoever looks again and again takes a core
            for shared, _ in self._groups:
                for worker in shared:
                    worker.spin_seconds = 0.0

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all, or those of `options["reset_mask"]`; an integer seeds them with numbers in a row.

        Raises:
            InputError: there are not as many seeds, or as many entries in the mask, as environments.
        """
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        seeds = [None] * self.num_envs if seeds is None else list(seeds)
        options = check_reset_options(options, ("program", "reset_mask"))
        chosen = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, dtype=bool)))
        if len(seeds) != self.num_envs or chosen.shape != (self.num_envs,) or chosen.dtype != bool:
            raise InputError(f"expected {self.num_envs} seeds and as many booleans in reset_mask")
        self._begun = {i: begun for i, begun in self._begun.items() if not chosen[i]}
        infos: dict[str, Any] = {}
        for i, info in self._restart([int(i) for i in np.flatnonzero(chosen)], seeds, options).items():
            infos = self._add_info(infos, info, i)
        return self._batch(), infos

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
                    else:  # while compilers are at work
                        infos = self._add_info(infos, info, i)
        finally:  # Ctrl-C: nobody waits for the others any more
            self._begun.clear()
        for i, info in self._restart(list(final)).items():
            infos = self._add_info(infos, final[i] | info, i)
        return self._batch(), rewards, terminations, truncations, infos

    def send(self, number: int, action: int) -> None:
        """Start a step in one environment, or its next episode where the last is over; see `ready`.

        Raises:
            IllegalAction: the mask forbids it; nothing happened.
        """
        if not self._done[number]:
            self._check(self.envs[number], action)
        self._begin(number, action)

    def ready(self, until: float = math.inf) -> list[tuple[int, Next]]:
        """Wait for steps that were sent; return those that are done, with their environments' numbers.

        At the time `until`, by time.monotonic(), nobody waits any more: then there may be none.

        Passes differ a hundredfold in time, so where all wait for the slowest, cores stand idle: `send`
        the next action to each environment when it is ready, and none waits for another.
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
        """Kill the compilers of steps that nobody waits for any more; their environments are to be reset."""
        for i in self._begun:
            if worker := self.envs[i].worker:
                worker.close()
        self._begun.clear()

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
        if not hasattr(action, "__index__") or not 0 <= action < len(mask) or not mask[action]:
            env.step(action)

    def _share(self, most: int, threads: int) -> list[tuple[list[Worker], list[int]]]:
        """Deal the environments to so many workers of each kind, in turn, and return who is in which."""
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
        """Begin a step, or an episode where the last is over."""
        env = self.envs[number]
        begun = partial(_as_step, env.begin_reset()) if self._done[number] else env.begin_step(action)
        self._begun[number] = (env.worker.begun if env.worker else 0, begun)

    def _restart(
        self,
        numbers: Sequence[int],
        seeds: Sequence[int | None] = (),
        options: dict[str, Any] | None = None,
    ) -> dict[int, dict[str, Any]]:
        """Begin an episode in some, and return what they tell."""
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
        """Let each environment begin something: one message for each worker, as soon as it is whole."""
        for workers, numbers in self._groups:
            with gathered(workers):
                for i in numbers:
                    begin(i)

    def _answered(self) -> list[int]:
        """Return which of those that are begun need not be waited for; in this process, that is all."""
        workers = {i: self.envs[i].worker for i in self._begun}
        return [i for i, worker in workers.items() if not worker or worker.answered >= self._begun[i][0]]

    def _batch(self) -> Any:
        space = self.single_observation_space
        empty: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, self._seen, empty)


def _as_step(begun: Callable[[], First]) -> Next:
    observed, info = begun()
    return observed, 0.0, False, False, info
