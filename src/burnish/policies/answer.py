"""Exported policies that answer a compiler's questions in the session's process: see Session.answer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from burnish.core.answer import Answerer
from burnish.core.errors import InputError
from burnish.core.guide import State
from burnish.core.task import Task
from burnish.core.view import Mask, Observed
from burnish.policies.columns import with_columns
from burnish.policies.guiding import PolicyGuide, Steps, load_guide
from burnish.policies.load import load_action_policy


@dataclass(frozen=True)
class PolicyFile:
    """A policy's file, as a MakeAnswerer: each worker reads the file once."""

    path: Path
    digest: str  # of the file's bytes: a new policy under the same name is read again
    observation: str | tuple[str, ...]  # see PolicyGuide
    actions: tuple[str, ...] = field(repr=False)  # the task's
    columns: tuple[str, ...] = field(default=(), repr=False)  # the observation's; empty if there are several

    def __call__(self) -> Answers:
        """Read the policy.

        Raises:
            MissingTool, InputError: see load_action_policy.
        """
        policy = load_action_policy(self.path)
        if self.columns:
            policy = with_columns(policy, self.columns)
        guide_for = PolicyGuide(policy, self.observation, None)
        return Answers(guide_for.steps(self.actions))


@dataclass(frozen=True, eq=False)
class Answers:
    """The most probable answer to every question; an Answerer."""

    steps: Steps

    @property
    def observations(self) -> tuple[str, ...]:
        """See Answerer."""
        return self.steps.observations

    def __call__(self, observed: tuple[Observed, ...], legal: Mask) -> int:
        """See Answerer; if the policy knows no legal action, return the first legal one."""
        log_probs = self.steps.predict([State(observed, legal)])[0].log_probs[self.steps.known]
        if not np.isfinite(log_probs).any():
            return int(np.argmax(legal))
        return int(self.steps.columns[log_probs.argmax()])


@dataclass(frozen=True)
class ByPython:
    """The policy of a file, called for each question even where the compiler could run its network.

    For comparisons: the answers are the same.
    """

    file: PolicyFile

    def __call__(self) -> StepByStep:
        """See MakeAnswerer."""
        return StepByStep(self.file())


@dataclass(frozen=True)
class StepByStep:
    """An Answerer that hides its policy's network, so that the compiler cannot run it."""

    policy: Answerer

    @property
    def observations(self) -> tuple[str, ...]:
        """See Answerer."""
        return self.policy.observations

    def __call__(self, observed: tuple[Observed, ...], legal: Mask) -> int:
        """See Answerer."""
        return self.policy(observed, legal)


def answers_of(path: Path, task: Task) -> PolicyFile:
    """Return a policy's file as a MakeAnswerer for sessions of a task.

    Raises:
        MissingTool: the package that runs the policy is not installed.
        InputError: the file is not a policy, is for another task, or also acts at sites of its own choice.
    """
    found = load_guide(path, task)
    if found.sites:
        raise InputError(
            f"{path}: the policy acts at {found.sites} sites; expected one that only answers the "
            "compiler's questions"
        )
    digest = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    columns = task.observation(found.observation).columns if isinstance(found.observation, str) else ()
    return PolicyFile(path.resolve(), digest, found.observation, task.actions, tuple(columns))
