"""Policies by their names: those that come with burnish, and files."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from burnish.core.errors import UnknownName
from burnish.core.guide import GuideFor
from burnish.core.objective import parse_objective
from burnish.core.task import Task

SHIPPED = Path(__file__).parent / "shipped"
DEFAULT = "shipped"
NONE = "none"
AT = "@"
LIKE = {"object-bytes": "loaded-bytes"}  # objectives for which the policy for another one is good, too
KINDS = {"sequence-values": "burnish.policies.sequence_values:load_for"}
"""By what a policy's file says it is, "module:function" of (path, task) -> GuideFor; tasks have kinds of
their own, and any other is"""
ACTIONS_ONE_BY_ONE = "burnish.policies.guiding:load_guide"


def shipped(task: Task | None = None) -> dict[str, Path]:
    """Return the policies that come with burnish, and those that come with a task, by their names."""
    folders = [SHIPPED, *([task.policies.shipped] if task and task.policies.shipped else [])]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.npz"))}


def names_for(task: Task) -> list[str]:
    """Return the names of the shipped policies for a task."""
    return [name for name in shipped(task) if name.startswith(f"{task.name}-")]


def find_guide(name: str, task: Task, objective: str) -> tuple[GuideFor, str] | None:
    """Return the policy of a name, and its name in results.

    Args:
        name: "shipped", the one for this task and objective if there is one, among several the one trained
            with the actions that the task has, or on such a machine; "none"; of `shipped()`; a file.
        task: Whose actions.
        objective: What is minimised.

    Raises:
        UnknownName: there is no such policy.
        InputError: the file is none, or for another task.
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
    """Return the shipped policy for an objective whose actions and machine were most nearly those at hand."""
    objective = parse_objective(objective).unlimited
    wanted = f"{task.name}-{LIKE.get(objective, objective)}"
    found = [
        (_load(path, task), name)
        for name, path in shipped(task).items()
        if name == wanted or name.startswith(f"{wanted}-")
    ]
    return min(found, key=lambda item: _distance(item[0], task), default=None)


def _distance(guide_for: GuideFor, task: Task) -> float:
    """Return how far a policy was trained from what is at hand, where it says so."""
    distance: Callable[[Task], float] | None = getattr(guide_for, "distance", None)
    return distance(task) if distance else 0.0


def made_for(name: str, task: Task, objective: str) -> str:
    """Return the objective that a policy was made for, where that is another one; "" where it is the same.

    Raises:
        UnknownName, InputError: see find_guide.
    """
    guide_for = (find_guide(name, task, objective) or (None,))[0]
    own = getattr(guide_for, "objective", None)  # of sequence values; other policies say it on their card
    if own is None:
        own = getattr(getattr(guide_for, "policy", None), "card", {}).get("objective", objective)
    return "" if parse_objective(own).unlimited == parse_objective(objective).unlimited else str(own)


def check(name: str, task: Task | None = None) -> None:
    """Check that there is a policy of that name.

    Raises:
        UnknownName: there is none.
    """
    known = [DEFAULT, NONE, *shipped(task)]
    if name not in known and not Path(name).is_file():
        raise UnknownName.among("policy", name, [*known, "or a file"])


def path_of(name: str) -> Path:
    """Return the file of a policy that comes with burnish, or that a user names.

    Raises:
        UnknownName: there is none.
    """
    known = shipped()
    if name not in known and not Path(name).is_file():
        raise UnknownName.among("policy", name, [*known, "or a file"])
    return known.get(name) or Path(name)


def named(method: str, policy: str) -> str:
    """Return the name of a search that a policy guides, for results: "mixed@policy", or the search's own."""
    return f"{method}{AT}{policy}" if policy else method


def _load(path: Path, task: Task) -> GuideFor:
    from burnish.policies.npz import kind_of

    kinds = {**KINDS, **task.policies.kinds}
    module, _, function = kinds.get(kind_of(path), ACTIONS_ONE_BY_ONE).partition(":")
    load: Callable[[Path, Task], GuideFor] = getattr(importlib.import_module(module), function)
    return load(path, task)
