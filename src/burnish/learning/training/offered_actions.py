"""The actions that a configuration offers to a policy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from burnish.core.errors import InputError
from burnish.core.registry import load_task
from burnish.core.task import Task
from burnish.learning.training.config import Config


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
