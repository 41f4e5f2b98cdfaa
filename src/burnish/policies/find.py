"""Look-up of policies by name: shipped policies and files."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from burnish.core.errors import InputError, UnknownName
from burnish.core.guide import GuideFor
from burnish.core.objective import parse_objective
from burnish.core.task import Task

SHIPPED = Path(__file__).parent / "shipped"
DEFAULT = "shipped"
NONE = "none"
AT = "@"
LIKE = {"object-bytes": "loaded-bytes"}  # objectives that use the shipped policy of another objective
KINDS = {"sequence-values": "burnish.policies.sequence_values:load_for"}
"""Loader by policy kind, as "module:function" of (path, task) -> GuideFor. Tasks add kinds of their own; all
other kinds use ACTIONS_ONE_BY_ONE."""
ACTIONS_ONE_BY_ONE = "burnish.policies.guiding:load_guide"


def shipped(task: Task | None = None) -> dict[str, Path]:
    """Return the files of policies shipped with burnish, and of those shipped with a task, by name."""
    folders = [SHIPPED, *([task.policies.shipped] if task and task.policies.shipped else [])]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.npz"))}


def names_for(task: Task) -> list[str]:
    """Return the names of the shipped policies for a task."""
    return [name for name in shipped(task) if name.startswith(f"{task.name}-")]


def find_guide(name: str, task: Task, objective: str) -> tuple[GuideFor, str] | None:
    """Return the policy of a name, and its name in results; None if there is none to use.

    Args:
        name: "shipped", "none", a name of `shipped()`, or a file. "shipped" is the policy for this task and
            objective, if there is one; among several, the one trained with the most similar actions or on
            the most similar machine.
        task: The task whose actions the policy chooses.
        objective: The objective that is minimised.

    Raises:
        UnknownName: there is no such policy.
        InputError: the file is not a policy, or is for another task.
    """
    if name == NONE:
        return None
    known = shipped(task)
    if name == DEFAULT:
        return _nearest(task, objective)
    if name in known:
        return _load(known[name], task), name
    check(name, task)
    return _load(Path(name), task), Path(name).stem


def _nearest(task: Task, objective: str) -> tuple[GuideFor, str] | None:
    """Return the shipped policy for an objective; among several, the one nearest by `_distance`."""
    objective = parse_objective(objective).unlimited
    wanted = f"{task.name}-{LIKE.get(objective, objective)}"
    found = [
        (_load(path, task), name)
        for name, path in shipped(task).items()
        if name == wanted or name.startswith(f"{wanted}-")
    ]
    return min(found, key=lambda item: _distance(item[0], task), default=None)


def _distance(guide_for: GuideFor, task: Task) -> float:
    """Return the policy's own distance between its training and this task; 0 if it defines none."""
    distance: Callable[[Task], float] | None = getattr(guide_for, "distance", None)
    return distance(task) if distance else 0.0


def made_for(name: str, task: Task, objective: str) -> str:
    """Return the objective that a policy was trained for; "" if it is this one.

    Raises:
        UnknownName, InputError: see find_guide.
    """
    guide_for = (find_guide(name, task, objective) or (None,))[0]
    own = getattr(guide_for, "objective", None)  # of sequence values; other policies: on the card
    if own is None:
        own = getattr(getattr(guide_for, "policy", None), "card", {}).get("objective", objective)
    return "" if parse_objective(own).unlimited == parse_objective(objective).unlimited else str(own)


def check(name: str, task: Task | None = None) -> None:
    """Check that there is a policy of that name.

    Raises:
        UnknownName: there is no such policy.
    """
    known = [DEFAULT, NONE, *shipped(task)]
    if name not in known and not Path(name).is_file():
        raise UnknownName.among("policy", name, [*known, "or a file"])


def path_of(name: str) -> Path:
    """Return the file of a policy that is shipped with burnish, or the file that a user names.

    Raises:
        UnknownName: there is no such policy or file.
    """
    known = shipped()
    if name not in known and not Path(name).is_file():
        raise UnknownName.among("policy", name, [*known, "or a file"])
    return known.get(name) or Path(name)


def setting_of(name: str, task: Task) -> str:
    """Return the setting of a task whose value is this policy; "" if the policy guides searches."""
    from burnish.policies.npz import kind_of

    path = Path(name)
    return task.policies.settings.get(kind_of(path), "") if path.is_file() else ""


def named(method: str, policy: str) -> str:
    """Return a search's name in results: "mixed@policy", or its own name if no policy guides it."""
    return f"{method}{AT}{policy}" if policy else method


def _load(path: Path, task: Task) -> GuideFor:
    from burnish.policies.npz import kind_of

    kinds = {**KINDS, **task.policies.kinds}
    if setting := setting_of(str(path), task):
        raise InputError(f"{path}: this policy does not guide a search; use --{setting.replace('_', '-')}")
    module, _, function = kinds.get(kind_of(path), ACTIONS_ONE_BY_ONE).partition(":")
    load: Callable[[Path, Task], GuideFor] = getattr(importlib.import_module(module), function)
    return load(path, task)
