"""The tasks: one folder each, all of the same shape."""

from __future__ import annotations

import importlib

from burnish.core.errors import UnknownName
from burnish.core.task import Task

TASKS = ("llvm_passes",)


def load_task(name: str) -> Task:
    """Return a task by its name, with or without its version ("llvm_passes", "llvm_passes-v1").

    Raises:
        UnknownName: there is no such task, or no such version of it.
    """
    plain = name.partition("-v")[0]
    if plain not in TASKS:
        raise UnknownName.among("task", name, TASKS)
    task: Task = importlib.import_module(f"burnish.tasks.{plain}").TASK
    if name not in (plain, task.id):
        raise UnknownName.among("task", name, [task.id])
    return task
