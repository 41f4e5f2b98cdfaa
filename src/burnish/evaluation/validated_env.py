"""Environments whose states are validated."""

from __future__ import annotations

from typing import Any

import gymnasium

from burnish.core.errors import InputError
from burnish.core.view import Mask
from burnish.envs.env import Env, Next
from burnish.evaluation.validate import Scrutiny, Validation, validate


class ValidateAfterEveryStep(gymnasium.Wrapper[Any, int, Any, int]):
    """Validates the state after each step; an episode ends at the first state that fails.

    Then the step's reward is `failure_reward`, and `info` has `error` and `failure`, the kind of the failure
    (see burnish.core.validator). A validation takes two new processes, and runs the program on all its
    inputs. CompilerGym: ValidateBenchmarkAfterEveryStep.
    """

    def __init__(
        self, env: gymnasium.Env[Any, int], *, scrutiny: Scrutiny = Scrutiny(), failure_reward: float = -1.0
    ) -> None:
        """Wrap an environment that is a burnish.envs.env.Env inside.

        Raises:
            InputError: it is another environment.
        """
        if not isinstance(env.unwrapped, Env):
            raise InputError(f"ValidateAfterEveryStep({env}): expected a burnish.envs.env.Env inside")
        super().__init__(env)
        self._scrutiny, self._failure_reward = scrutiny, failure_reward

    def step(self, action: int) -> Next:
        """Apply an action, and validate the state."""
        observed, reward, terminated, truncated, info = super().step(action)
        if "error" in info:  # a crash
            return observed, float(reward), terminated, truncated, info
        if failure := self.validate().failure:
            said = {"error": str(failure), "failure": failure.kind}
            return observed, self._failure_reward, True, truncated, info | said
        return observed, float(reward), terminated, truncated, info

    def validate(self) -> Validation:
        """Validate the state: see burnish.evaluation.validate.validate."""
        inner = self.unwrapped
        assert isinstance(inner, Env)
        return validate(inner.task, inner.program, inner.trace, scrutiny=self._scrutiny)

    def action_masks(self) -> Mask:
        """Return the mask of legal actions, bool[action_space.n]."""
        inner = self.unwrapped
        assert isinstance(inner, Env)
        return inner.action_masks()
