"""Gymnasium wrappers of environments, as CompilerGym had them (compiler_gym/wrappers there)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from burnish.core.errors import InputError
from burnish.core.view import Mask
from burnish.envs.env import Env, First, Next


class ForkOnStep(gymnasium.Wrapper[Any, int, Any, int]):
    """Keeps a fork of the environment before each step, so steps can be undone.

    Attributes:
        stack: The forks, the program's own state first.
    """

    def __init__(self, env: gymnasium.Env[Any, int]) -> None:
        """Wrap an environment that is a burnish.envs.env.Env inside.

        Raises:
            InputError: it is another environment, or has wrappers inside, which forks would lack.
        """
        if not isinstance(env, Env):
            raise InputError(f"ForkOnStep({env}): expected a burnish.envs.env.Env: env.unwrapped")
        super().__init__(env)
        self._root: Env = env
        self.stack: list[Env] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> First:
        """Begin an episode; the earlier forks end."""
        self._drop()
        if self.env is not self._root:
            self.env.close()
            self.env = self._root
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> Next:
        """Apply an action to a fork, which becomes the environment."""
        before = self.env
        assert isinstance(before, Env)
        after = before.fork()
        try:
            found = after.step(action)
        except BaseException:
            after.close()
            raise
        self.stack.append(before)
        self.env = after
        return found

    def undo(self) -> Env:
        """Return to the state before the last step.

        Raises:
            InputError: no step is left to undo.
        """
        if not self.stack:
            raise InputError("undo(): no step is left to undo")
        self.env.close()
        self.env = self.stack.pop()
        return self.env

    def action_masks(self) -> Mask:
        """Return the mask of legal actions, bool[action_space.n]."""
        return self.unwrapped.action_masks()  # type: ignore[attr-defined, no-any-return]

    def close(self) -> None:
        """End the forks and the worker process."""
        if self.env is not self._root:
            self.env.close()
        self._drop()
        self._root.close()

    def _drop(self) -> None:
        for fork in self.stack[1:]:
            fork.close()
        self.stack.clear()


class TerminalAction(gymnasium.Wrapper[Any, int, Any, int]):
    """Adds a last action, which ends the episode and changes nothing; it is always legal.

    With objectives that are not dense, this action measures the state and pays the episode's reward.
    CompilerGym: CommandlineWithTerminalAction.
    """

    def __init__(self, env: gymnasium.Env[Any, int]) -> None:
        """Wrap an environment; its action space grows by one."""
        super().__init__(env)
        space = env.action_space
        assert isinstance(space, gymnasium.spaces.Discrete)
        self.end = int(space.n)
        self.action_space = gymnasium.spaces.Discrete(self.end + 1)  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> First:
        """Begin an episode."""
        observed, info = super().reset(seed=seed, options=options)
        return observed, self._with_end(info)

    def step(self, action: int) -> Next:
        """Apply an action, or end the episode."""
        if action != self.end:
            observed, reward, terminated, truncated, info = super().step(action)
            return observed, float(reward), terminated, truncated, self._with_end(info)
        inner = self.unwrapped
        assert isinstance(inner, Env)
        observed, reward, terminated, truncated, info = inner.stop()
        return observed, reward, terminated, truncated, self._with_end(info)

    def action_masks(self) -> Mask:
        """Return the mask of legal actions, bool[action_space.n]."""
        inner = self.unwrapped
        assert isinstance(inner, Env)
        return np.append(inner.action_masks(), True)

    def _with_end(self, info: dict[str, Any]) -> dict[str, Any]:
        return info | {"mask": np.append(info["mask"], True)}
