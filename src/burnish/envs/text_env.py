"""The environment of a task in text, for language models: prompts as observations, answers as actions."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from burnish.core.action import Action
from burnish.core.argument_checks import whole_number_in
from burnish.core.errors import InputError, nearest
from burnish.core.task import Task
from burnish.core.texts import cut, observed_text
from burnish.core.trace import WHOLE_PROGRAM, entry, split_entry
from burnish.envs.env import Env
from burnish.envs.program_sampler import Programs

STOP = "stop"
MOST_ANSWER = 20_000  # characters of an answer
MOST_ACTIONS = 20_000  # characters of the list of legal actions; LLVM's 183 passes take 11,000
MOST_REST = 2_000  # characters of all else in a message
CHARACTERS = frozenset(string.printable)
SITES_SHOWN = 20  # names of sites in a message

_MARKED = re.compile(r"^[\s>*_#-]*action[\s*_]*:[\s*_]*(.+)$", re.IGNORECASE | re.MULTILINE)
_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_AROUND = " \t\r\n`*\"'."


class TextEnv(gymnasium.Env[str, str]):
    """The environment `Env` in text: an observation is a message to a model, an action is its answer.

    The first message, of `reset`, explains the task, the costs, the state, the legal actions and the form of
    an answer. Each later one has the effect of a step: the costs, and the changes of the state's text.

    An answer is free text; see `parse`. `stop` terminates the episode. An answer without a legal action
    counts as a step, changes nothing, and is rewarded with `illegal_reward`; the message names near actions.
    All else is as in `Env`, the rewards included.

    `info` is that of Env, with `entry` (the applied entry, "" without one).
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - Gymnasium's own form

    def __init__(
        self,
        task: Task,
        programs: Programs,
        *,
        observation: str | None = None,
        characters: int = 4000,
        illegal_reward: float = 0.0,
        baselines: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        """Make an environment.

        Args:
            task: The task that optimizes the programs.
            programs: See Env.
            observation: The observation that is shown; by default the text in which people compare states.
            characters: The most characters of a state, or of its changes, in a message.
            illegal_reward: The reward of an answer without a legal action.
            baselines: The baselines in the first message; by default those of the task's tables.
            options: The other keyword arguments of Env.

        Raises:
            InputError, UnknownName: see Env.
        """
        self._listing = next(iter(task.listings), None)
        shown = observation or (self._listing.observation if self._listing else None)
        self._observation = task.observation(shown)
        if not isinstance(illegal_reward, int | float):
            raise InputError(f"illegal_reward={illegal_reward!r}: expected a number, such as -0.1")
        self._characters = whole_number_in("characters", characters, 1)
        self._illegal_reward = float(illegal_reward)
        compared = task.shown.baselines or tuple(task.baselines) if baselines is None else baselines
        self.env = Env(task, programs, observation=self._observation.name, baselines=compared, **options)
        self.render_mode = self.env.render_mode
        most = self._characters + MOST_ACTIONS + MOST_REST
        self.observation_space = spaces.Text(most, min_length=0, charset=CHARACTERS)
        self.action_space = spaces.Text(MOST_ANSWER, min_length=0, charset=CHARACTERS)
        self._seen: Any = None  # the state's observation
        self._cost = 0.0  # the last measured one
        self._listed = ""  # the last list of legal actions
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Open the next program and return the first message; see Env.reset."""
        super().reset(seed=seed)
        self._seen, info = self.env.reset(seed=seed, options=options)
        self._cost, self._steps, self._listed = info["cost"], 0, ""
        task, goal = self.env.task, self.env.objective
        costs = info.get("baselines", {})
        compared = ", ".join(f"{task.label(name)}: {cost:g}" for name, cost in costs.items())
        most = self.env.max_steps
        example = next(self._legal_entries(), STOP)
        message = [
            "You optimize a program with a compiler. Each step applies one action. Lower the cost.",
            "",
            f"Task: {task.name}. Program: {info['program']}.",
            f"Cost: {goal.name} ({goal.unit}): {goal.description}. Now: {self._cost:g}.",
            *([f"For comparison, {compared}."] if compared else []),
            f"Steps: {f'at most {most}' if most else 'until no action is legal'}.",
            *([] if self.env.dense else ["The cost is measured at the end of the episode."]),
            "",
            f"State ({self._observation.name}):",
            self._text_of(),
            "",
            *self._actions(),
            "",
            f"Answer with your reasons, and at the end one line with an action: Action: {example}",
            f"To end the episode: Action: {STOP}",
        ]
        return self._sent(message), {**info, "entry": ""}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Apply the action in an answer, and return its effect as a message; see Env.step."""
        self._steps += 1
        text = parse(action)
        if text.lower() == STOP:
            _, reward, terminated, truncated, info = self.env.stop()
            return self._ended(
                ["You have stopped.", *self._measured(info)], reward, terminated, truncated, info
            )
        number = self._number(text)
        if number is None:
            why = self._unusable(text)
            _, reward, terminated, truncated, info = self.env.pass_step()
            message = [self._headed(why), *self._measured(info)]
            reward += self._illegal_reward
            return self._ended(message, reward, terminated, truncated, info)
        before = self._seen
        self._seen, reward, terminated, truncated, info = self.env.step(number)
        if "error" in info:
            return self._ended(
                [self._headed(text), *self._measured(info)], reward, terminated, truncated, info
            )
        applied = self.env.trace[-1]
        message = [self._headed(applied), *self._measured(info), "", "Changes:", self._text_of(before)]
        return self._ended(message, reward, terminated, truncated, info | {"entry": applied})

    def render(self) -> str:
        """See Env.render."""
        return self.env.render()

    def close(self) -> None:
        """End the worker process."""
        self.env.close()

    def _ended(
        self, message: list[str], reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Return a step's results; the message names the legal actions if others are legal now."""
        if terminated or truncated:
            message += ["", "The episode has ended."]
        else:
            listed = self._listed
            actions = self._actions()
            message += ["", *(actions if self._listed != listed else ["The same actions are legal."])]
        return self._sent(message), reward, terminated, truncated, {"entry": ""} | info

    def _headed(self, text: str) -> str:
        most = self.env.max_steps
        return f"Step {self._steps}{f' of {most}' if most else ''}: {text}"

    def _measured(self, info: dict[str, Any]) -> list[str]:
        """Return the line about the cost, if it was measured, or about the compiler's failure."""
        if "error" in info:
            return [f"The compiler failed: {info['error']}"]
        if "cost" not in info:
            return []
        old, self._cost = self._cost, info["cost"]
        change = f"{self._cost / old - 1:+.2%}" if self._cost != old else "unchanged"
        return [f"Cost: {self._cost:g}, {change}."]

    def _text_of(self, before: Any = None) -> str:
        return observed_text(
            self._observation, self._seen, before, listing=self._listing, most=self._characters
        )

    def _unusable(self, text: str) -> str:
        if not text:
            example = next(self._legal_entries(), STOP)
            return f"your answer has no action; expected a line such as: Action: {example}"
        legal = list(self._legal_entries())
        return f"{text[:200]!r} is not a legal action, and nothing has changed; {nearest(text, legal)}"

    def _number(self, text: str) -> int | None:
        """Return the number of a legal entry in the numeric action space; None if it is not legal."""
        env, mask = self.env, self.env.action_masks()
        site, name = split_entry(text)
        if site == env.question:
            site = WHOLE_PROGRAM  # which answers the question
        if name not in env.actions or site not in env.sites:
            return None
        number = env.sites.index(site) * len(env.actions) + env.actions.index(name)
        return number if mask[number] else None

    def _legal_entries(self) -> Iterator[str]:
        """Yield the legal entries; those on the whole program come first."""
        env = self.env
        for number in np.flatnonzero(env.action_masks()):
            place, choice = divmod(int(number), len(env.actions))
            yield entry(env.actions[choice], env.sites[place])

    def _actions(self) -> list[str]:
        """Return the legal actions and what they do; actions that differ only in parameters share a line."""
        env, groups = self.env, dict[str, list[str]]()
        mask = env.action_masks()[: len(env.actions)]
        for name in (env.actions[i] for i in np.flatnonzero(mask)):
            described = name in env.task.descriptions
            groups.setdefault(name if described else Action.parse(name).kind, []).append(name)
        lines = []
        for names in groups.values():
            text, last = env.task.describe(names[0]), env.task.describe(names[-1])
            example = "" if text == last else f"{names[0]} means: "
            lines.append(f"- {'  '.join(names)}{': ' if text else ''}{example}{text}")
        asked = [f"The compiler asks about {env.question}."] if env.question else []
        self._listed = cut("\n".join([*asked, *lines]), MOST_ACTIONS - 200)
        message = ["Legal actions:", self._listed]
        if sites := [site for site in env.sites if site]:
            shown = ", ".join(sites[:SITES_SHOWN])
            message.append(cut(f"To act at one site, write SITE: ACTION. Sites: {shown}", 600))
        return message

    def _sent(self, lines: Sequence[str]) -> str:
        """Return a message as a member of the observation space: characters that it lacks become '?'."""
        text = cut("\n".join(lines), self.observation_space.max_length - 40)  # type: ignore[attr-defined]
        return "".join(char if char in CHARACTERS else "?" for char in text)


def parse(answer: str) -> str:
    """Return the action in a model's answer; "" without one.

    It is the rest of the last line that begins with `Action:`, or else the last line of the last fenced
    block, or else the last line. Quotes, backticks and stars around it do not count, nor does a full stop.
    """
    if marked := _MARKED.findall(answer):
        return str(marked[-1]).strip(_AROUND)
    text = (_FENCED.findall(answer) or [answer])[-1]
    lines = [line.strip(_AROUND) for line in str(text).splitlines()]
    return next((line for line in reversed(lines) if line), "")
