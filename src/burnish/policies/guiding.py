"""Policies that choose the next action, as guides of searches.

The guide offers roll-outs as initial traces, the most probable one first, so a search with the smallest
budget returns the policy's own result. It also predicts actions in every state that the search reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError
from burnish.core.guide import Guide, InitialTraces, Prediction, State
from burnish.core.session import Session
from burnish.core.task import Opener, Task
from burnish.core.trace import Trace
from burnish.core.view import Start, Step, View
from burnish.policies.choose import ILLEGAL, ActionPolicy, Floats, Mask, choose
from burnish.policies.columns import with_columns
from burnish.policies.load import load_action_policy

AT_ONCE = 16  # states in a network's batch; larger batches take no less time per state


@dataclass(frozen=True)
class PolicyGuide:
    """A GuideFor: guides by a policy that was trained in an environment."""

    policy: ActionPolicy
    observation: str | tuple[str, ...]  # the environment's; with several, the policy takes a dict
    max_steps: int | None  # of the environment's episodes
    sites: int = 0  # number of sites for actions, beside the whole program: see burnish.envs.env
    values: bool = True  # whether the critic's values, if any, are log ratios of costs
    open: Opener | None = None  # as in training, where fewer actions may be legal; None: as the task does
    rollouts: int = 8  # at most; the first one is greedy, the others are drawn
    seed: int = 0  # of the drawn roll-outs

    def __call__(self, session: Session) -> Guide:
        """Return the guide for a program that was just opened.

        Raises:
            InputError: none of the policy's actions is an action of the session.
        """
        steps = self.steps(session.actions)
        return Guide(initial_traces=self._rollouts(session, steps), policy=steps)

    def steps(self, task_actions: Sequence[str]) -> Steps:
        """Return the policy restricted to a task's actions.

        Raises:
            InputError: none of the policy's actions is an action of the task.
        """
        names = (self.observation,) if isinstance(self.observation, str) else self.observation
        actions = self.policy.actions[: len(self.policy.actions) // (1 + self.sites)]
        index = {action: i for i, action in enumerate(task_actions)}
        known = [i for i, action in enumerate(actions) if action in index]
        if not known:
            raise InputError(
                f"the policy has none of the {len(index)} actions; its first one is "
                f"{actions[0]!r}: it was trained for another task, or another list of actions"
            )
        return Steps(
            actions,
            names,
            self.sites,
            self.max_steps,
            self.policy,
            not isinstance(self.observation, str),
            np.array(known),
            np.array([index[actions[i]] for i in known]),
            self.values,
        )

    def _rollouts(self, session: Session, steps: Steps) -> InitialTraces:
        start = session.opened_by(self.open) if self.open else session
        try:
            for number in range(self.rollouts):
                rng = np.random.default_rng((self.seed, number)) if number else None
                yield rollout(start, steps, rng)
        finally:
            if start is not session:
                start.close()


@dataclass(frozen=True, eq=False)
class Steps:
    """A policy restricted to a session's actions: see burnish.core.guide.StatePolicy."""

    actions: tuple[str, ...]
    observations: tuple[str, ...]
    sites: int
    max_steps: int | None
    policy: ActionPolicy = field(repr=False)
    as_dict: bool  # whether the policy takes a dict of observations by name
    known: NDArray[np.int64] = field(repr=False)  # indices in `actions` of those that the session has
    columns: NDArray[np.int64] = field(repr=False)  # indices of the same actions in the session's actions
    values: bool  # whether the critic's values, if any, are log ratios of costs

    def predict(self, states: Sequence[State]) -> list[Prediction]:
        """See StatePolicy."""
        found: list[Prediction] = []
        for i in range(0, len(states), AT_ONCE):
            found += self._predict(states[i : i + AT_ONCE])
        return found

    def _predict(self, states: Sequence[State]) -> list[Prediction]:
        at_places = np.zeros((len(states), 1 + self.sites, len(self.actions)), dtype=bool)
        for mask, state in zip(at_places, states, strict=True):
            mask[: len(state.sites), self.known] = state.legal.reshape(len(state.sites), -1)[:, self.columns]
        masks = at_places.reshape(len(states), -1)
        observed = [self._observation(state) for state in states]
        log_probs, values = self._evaluate(observed, masks)
        exact = np.where(masks, log_probs.astype(np.float64), -np.inf)
        found = zip(exact, values, states, strict=True)
        return [Prediction(row, float(value), state.sites) for row, value, state in found]

    def _evaluate(self, observed: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        if self.values:
            with suppress(InputError):  # raised if the policy has no critic
                return self.policy.evaluate(observed, masks)
        return self.policy.log_probs(observed, masks), np.zeros(len(observed), dtype=np.float32)

    def _observation(self, state: State) -> Any:
        if not self.as_dict:
            return state.observed[0]
        return dict(zip(self.observations, state.observed, strict=True))


def rollout(session: Session, steps: Steps, rng: np.random.Generator | None = None) -> Trace:
    """Return a policy's trace from a session's state: the most probable actions, or actions drawn by `rng`.

    An action that changed nothing is not repeated before another action changes the state; a policy that
    sees only the state would repeat it for ever. If the compiler asks, an answer that changes nothing is the
    compiler's own default: it does not become an entry, and the next question follows. If the compiler
    crashes, the trace ends before the crash.
    """
    trace: list[str] = []
    unchanged: list[int] = []
    steps_taken = 0
    try:
        view = View(steps.observations, site_count=steps.sites)
        copy, start = session.begin_fork(view)()
        now: Start | Step = start
        while steps.max_steps is None or steps_taken < steps.max_steps:
            state = State(now.observed, now.mask, (now.question, *now.sites[1:]))
            log_probs = steps.predict([state])[0].log_probs
            log_probs[unchanged] = -np.inf
            if not np.isfinite(log_probs).any():
                break
            chosen = int(choose(np.maximum(log_probs, ILLEGAL).astype(np.float32)[None], rng)[0])
            place, action = divmod(chosen, len(steps.actions))
            asked = bool(now.question)
            index = session.index(steps.actions[action])
            now = step = copy.begin_step(index, now.sites[place], view, now.sites)()
            steps_taken += 1
            if step.changed or not asked:
                trace.append(step.entry)
            unchanged = [] if step.changed or asked else [*unchanged, chosen]
        copy.close()
    except CompilerCrash:
        pass
    return tuple(trace)


def guide_by(policy: ActionPolicy, task: Task) -> PolicyGuide:
    """Return a policy's guides for a task, from its card: task, observation, sites, reward, max_steps.

    Raises:
        InputError: the policy is for another task, or its card does not name its observation.
        UnknownName: the task has no such observation.
    """
    card = policy.card
    made_for = card.get("task", task.id)
    if made_for != task.id:
        raise InputError(f"the policy was trained for {made_for}, not for {task.id}; train it again")
    if "observation" not in card:
        raise InputError("the policy's card does not name the policy's observation; export it again")
    observation = card["observation"]
    observation = observation if isinstance(observation, str) else tuple(observation)
    for name in (observation,) if isinstance(observation, str) else observation:
        task.observation(name)
    if isinstance(observation, str) and (columns := task.observation(observation).columns):
        policy = with_columns(policy, columns)
    sites = int(card.get("sites", 0))
    if len(policy.actions) % (1 + sites):
        raise InputError(
            f"the policy's {len(policy.actions)} actions do not fit {sites} sites; export it again"
        )
    return PolicyGuide(
        policy,
        observation,
        card.get("max_steps", task.max_steps),
        sites,
        values=card.get("reward", "log") == "log",
        open=_trained(task, card.get("options", {})),
    )


def _trained(task: Task, options: Mapping[str, str]) -> Opener | None:
    """Return a task's opener under the restrictions on a policy's card; None if the task has its own."""
    names = {setting.name for setting in task.settings.settings if setting.restricts}
    restrictions = {name: options[name] for name in names & options.keys()}
    if not restrictions or names & task.options.keys():
        return None
    return task.configured({**task.options, **restrictions}).open


def load_guide(path: Path, task: Task) -> PolicyGuide:
    """Read a policy that burnish.learning.agents.export wrote, with its card, as guides for a task.

    Raises:
        MissingTool: the package that runs the policy is not installed.
        InputError: the file is not such a policy, or is for another task.
    """
    policy = load_action_policy(path)
    try:
        return guide_by(policy, task)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
