"""Reinforcement learning as a Training: a learner, its environments, validation programs, and the export."""

from __future__ import annotations

import copy
import pkgutil
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.envs.env import Env
from burnish.envs.env_spaces import ActionSpace
from burnish.envs.vector import VectorEnv
from burnish.files import write_atomically
from burnish.learning.agents.demonstrations import Demonstration
from burnish.learning.agents.policy import Critic, Head, Policy
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.networks.encoder import Encoder
from burnish.learning.training.algorithms import Note, settings_of
from burnish.learning.training.checkpoint import FILE, diverged
from burnish.learning.training.config import Config
from burnish.learning.training.configured import ConfiguredTraining, begins_anew
from burnish.learning.training.expert import (
    DEMONSTRATIONS,
    ExpertSetup,
    check_expert,
    make_demonstrations,
    read_demonstrations,
)
from burnish.learning.training.export_best import export
from burnish.learning.training.standardize import (
    RANDOM,
    Observations,
    check_standardize_on,
    default_observations,
    has_features,
    random_observations,
    standardize,
)
from burnish.learning.training.start import load_start
from burnish.learning.training.tables import from_table
from burnish.learning.training.track import EPISODES
from burnish.learning.training.validation import Held, Played, hold_out, measure, play_all, with_choices
from burnish.policies.choose import Actor
from burnish.workers.executor import IN_TURN, Executor


@dataclass(frozen=True)
class Heads:
    """The keys of [policy]: see burnish.learning.agents.policy.Policy."""

    head: Head = "flat"
    critic: Critic = "shared"


class PolicySetup(ConfiguredTraining):
    """A configuration's policy, and the environments that it acts in."""

    def __init__(self, config: Config) -> None:
        """Look up actions and networks; open no program.

        Raises:
            InputError: the configuration does not fit the task.
        """
        super().__init__(config)
        self.heads = from_table(Heads, config.policy, f"{config.name}: policy")
        self.space = ActionSpace(self.task, offered_actions(config, self.task), config.environment.sites)
        self.actions = self.space.texts
        self.encoder()  # fails now, not after minutes, if the configuration does not fit

    def env(self, programs: Sequence[Program]) -> Env:
        """Make an environment."""
        table = self.config.environment
        return Env(
            self.task,
            programs,
            observation=table.observation,
            objective=self.objective,
            reward=table.reward,
            failure_reward=table.failure_reward,
            actions=self.space.names,
            sites=self.space.sites,
            max_steps=table.max_steps,
            order="cycle",  # `programs` are in a random order; see Chosen
            dense=table.dense,
            limits=self.limits,
        )

    def encoder(self) -> Encoder:
        """Make an encoder for the environments' observations, with new weights."""
        try:
            return build_encoder(self.config.network, self.task, self.config.environment.observation)
        except InputError as error:
            raise InputError(f"{self.config.name}: {error}") from None

    def policy(self) -> Policy:
        """Make a policy, with new weights."""
        return Policy(self.encoder(), self.actions, head=self.heads.head, critic=self.heads.critic)


class PolicyTraining(PolicySetup):
    """A Training of a learner (burnish.learning.agents.learner)."""

    starts = True

    def __init__(self, config: Config, folder: Path, note: Note, do: Executor | None = None) -> None:
        """Open the programs, start the environments and make the learner.

        `do` makes demonstrations, by default in this process.

        Raises:
            InputError: the configuration does not fit the task or the programs.
        """
        super().__init__(config)
        self.folder = folder
        self.algorithm, settings = settings_of(config)
        if config.start_from and not self.algorithm.starts:
            raise begins_anew(config)
        self._do = do
        self.fresh = not (folder / FILE).exists()  # otherwise all weights are in the checkpoint
        check_standardize_on(config.run.standardize_on, self.task)
        if self.algorithm.imitates:
            check_expert(config.expert, self.task, self.objective, config.name)
        self.seen: Observations = []
        self.choose_programs()
        if self.task.max_steps is None:  # the compiler asks questions: drop programs in which it asks none
            note("looking for programs in which the compiler asks questions")
            self.programs = with_choices(self.programs, self.task, self.space, self.limits)
        self.envs = VectorEnv(partial(self.env, self.programs), config.environment.count)
        try:
            self.held, self.left_out = self._hold_out(note)
            self.seen = self._see(note)
            learner = pkgutil.resolve_name(f"{self.algorithm.module}:{self.algorithm.learner}")
            more = self._of_learner(settings, folder, note)
            self.learner: Any = learner(self.envs, self.policy, settings, seed=config.run.seed, **more)
        except BaseException:
            self.envs.close()
            raise

    def iterate(self) -> Mapping[str, float]:
        """See Training.

        Raises:
            InputError: a gradient is infinite or NaN.
        """
        try:
            metrics: Mapping[str, float] = self.learner.iterate()
        except RuntimeError as error:
            if "non-finite" not in str(error):  # torch's message if a gradient's norm is not finite
                raise
            raise diverged("a gradient is not finite") from None
        return metrics

    def validate(self) -> Mapping[str, float]:
        """See Training."""
        actor = self.learner.policy
        if isinstance(actor, torch.nn.Module):
            actor.eval()
        played = self.play(actor)
        write_atomically(self.folder / EPISODES, "".join(map(self._line, self.held, played)).encode())
        return measure(played)

    def _line(self, held: Held, played: Played) -> str:
        """Return the episode on a validation program as a line of EPISODES."""
        result = Result(
            task=self.task.id,
            program=held.program.name,
            digest=held.program.digest,
            objective=self.objective,
            method=self.config.algorithm["name"],
            seed=self.config.run.seed,
            trace=played.trace,
            cost=played.best,
            baselines={self.task.unoptimized: held.start, self.task.reference: held.reference},
            evaluations=1,
            seconds=0.0,
            toolchain=self.task.checks.toolchain(),
            options=self.task.options,
            source=(held.program.name,),
        )
        return result.to_json() + "\n"

    def play(self, actor: Actor) -> list[Played]:
        """Play the validation programs."""
        return play_all(actor, self.held, self.env, self.config.environment.count)

    def state_dict(self) -> dict[str, Any]:
        """See Training."""
        state: dict[str, Any] = self.learner.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Training."""
        self.learner.load_state_dict(state)

    def policy_state(self) -> dict[str, Any]:
        """See Training."""
        return copy.deepcopy(self.learner.policy.state_dict())

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, Mapping[str, Any]]:
        """See Training; the card has the results of the exported file on the validation programs."""
        actor = copy.deepcopy(self.learner.policy)
        actor.load_state_dict(policy)
        described = self.describe()
        path, found = export(actor, self.actions, folder, described, self.play)
        return path, {**described, "actions": list(self.actions), **found}

    def describe(self) -> dict[str, Any]:
        """Return a policy's description for its card, without its actions and results."""
        environment = self.config.environment
        observation = environment.observation or next(iter(self.task.observations))
        columns = self.task.observation(observation).columns if isinstance(observation, str) else ()
        return {
            **self.described(),
            "observation": observation if isinstance(observation, str) else list(observation),
            "columns": list(columns),
            "reward": environment.reward,
            "sites": self.space.sites,
            "max_steps": environment.max_steps or self.task.max_steps,
            "validation": [part.describe() for part in self.validation.parts],
            "left_out": self.left_out,
        }

    def close(self) -> None:
        """See Training."""
        self.envs.close()

    def policy(self) -> Policy:
        """Make a policy, with new weights or those of `start_from`."""
        policy = super().policy()
        standardize(policy.encoder, self.seen)
        if policy.critic_encoder is not None:
            standardize(policy.critic_encoder, self.seen)
        if self.config.start_from and self.fresh:
            load_start(policy, self.config.start_from, self.config.start_temperature)
        return policy

    def _of_learner(self, settings: Any, folder: Path, note: Note) -> dict[str, Any]:
        """Return the learner's further arguments, beside environments, policy, settings and seed."""
        return {"demonstrations": self._demonstrations(folder, note)} if self.algorithm.imitates else {}

    def _hold_out(self, note: Note) -> tuple[list[Held], list[str]]:
        """Return the usable validation programs, and the names of the others with the reasons."""
        return hold_out(
            self.task,
            self.validation,
            self.objective,
            limits=self.limits,
            actions=self.space,
            note=lambda done, total: note(f"{self.task.reference} on validation programs: {done} of {total}"),
        )

    def _see(self, note: Note) -> Observations:
        """Return the observations by which features are standardized; none for a resumed run."""
        total, count = self.config.run.standardize_steps, self.config.environment.count
        if not total or not has_features(self.encoder()) or not self.fresh:
            return []
        if self.config.run.standardize_on != RANDOM:
            note("recording the compiler's own decisions, to standardize features")
            return default_observations(self.config, self.task, self.programs, self.limits)
        note("playing at random, to standardize features")
        return random_observations(self.envs, -(-total // count), self.config.run.seed)

    def _demonstrations(self, folder: Path, note: Note) -> list[Demonstration]:
        expert = self.config.expert
        table = self.config
        alone = self._do or self.task.objective(self.objective).noisy
        workers = 1 if alone else table.environment.count
        setup = ExpertSetup(self.task, self.objective, expert, table.run.seed, workers, self.limits)
        if expert.demonstrations:
            return read_demonstrations(setup, self.programs)
        return make_demonstrations(folder / DEMONSTRATIONS, self.programs, setup, note, self._do or IN_TURN)


def offered_actions(config: Config, task: Task) -> tuple[str, ...] | None:
    """Return the actions that a configuration names and the task's options do not exclude; None for all.

    Raises:
        InputError: a name with a * matches no action.
    """
    names = config.environment.actions
    if names is None:
        return names
    every = load_task(task.name).actions
    found = dict.fromkeys(action for name in names for action in _fitting(name, every, config.name))
    return tuple(action for action in found if action in task.actions or action not in every)


def _fitting(name: str, actions: Sequence[str], where: str) -> list[str]:
    """Return the actions that match a name in which * stands for any text; a name without * as it is."""
    if "*" not in name:
        return [name]
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))))
    found = [action for action in actions if pattern.fullmatch(action)]
    if not found:
        raise InputError(
            f"{where}: environment.actions: {name!r} matches no action; the first one is {actions[0]!r}"
        )
    return found
