"""The tasks: one folder each, all of the same shape; other packages bring theirs by an entry point.

A package names each of its tasks in the group `burnish.tasks` of its own pyproject.toml; the value leads to a
burnish.core.task.Task, as in examples/gcc_flags:

    [project.entry-points."burnish.tasks"]
    gcc_flags = "gcc_flags:TASK"
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from burnish.core.errors import InputError, UnknownName
from burnish.core.task import Task

TASKS = (  # burnish's own; the first is the default
    "llvm_passes",
    "loop_nests",
    "llvm_inlining",
    "llvm_codegen",
    "llvm_passes_and_codegen",
    "llvm_inlining_passes_and_codegen",
    "mlir_schedules",
)
GROUP = "burnish.tasks"


@cache
def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, burnish's own first."""
    return (*TASKS, *sorted(_others()))


def load_task(name: str) -> Task:
    """Return a task by its name, with or without its version ("llvm_passes", "llvm_passes-v1").

    Raises:
        UnknownName: there is no such task, or no such version of it.
        InputError: another package's task cannot be loaded.
    """
    if not isinstance(name, str):
        raise UnknownName.among("task", name, task_names())
    plain = name.partition("-v")[0]
    if plain not in task_names():
        raise UnknownName.among("task", name, task_names())
    task: Task = _load(plain) if plain in TASKS else _load_other(_others()[plain])
    if name not in (plain, task.id):
        raise UnknownName.among("task", name, [task.id])
    return task


def task_for(texts: Sequence[str], name: str | None = None) -> Task:
    """Return the task of a name; for None the first one that takes what stands for programs.

    Raises:
        InputError: the task does not take one of them; no task takes all.
        UnknownName: there is no such task.
    """
    if name is not None:
        return load_task(name)
    if not texts:
        return load_task(TASKS[0])
    for known in task_names():
        task = load_task(known)
        if all(map(task.source().takes, texts)):
            return task
    sources = [load_task(known).source() for known in task_names()]
    strange = [text for text in texts if not any(source.takes(text) for source in sources)]
    if not strange:
        raise InputError(f"{texts[0]}, {texts[1]}: no task takes both; give programs of one task")
    if load_task(TASKS[0]).source().takes(texts[0]):
        return load_task(TASKS[0])  # whose error says more
    raise InputError(f"{strange[0]}: no task takes this; expected {program_kinds()}")


def program_kinds() -> str:
    """Return what may be given for a program: each form once, with the first task that takes it."""
    by_form: dict[str, str] = {}
    for name in task_names():
        by_form.setdefault(load_task(name).source().kinds, name)
    (first, _), *others = by_form.items()
    return "; ".join([first, *(f"for {name} {form}" for form, name in others)])


def _load(name: str) -> Task:
    task: Task = importlib.import_module(f"burnish.tasks.{name}").TASK
    return task


@cache
def _others() -> dict[str, EntryPoint]:
    """Return where other packages' tasks are; a name of burnish's own stays burnish's."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in TASKS}


@cache
def _load_other(point: EntryPoint) -> Task:
    where = f"the task {point.name} of {point.dist.name if point.dist else 'another package'}"
    try:
        task = point.load()
    except Exception as error:  # whatever its module does
        raise InputError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(task, Task):
        raise InputError(f"{where}: {point.value} is no burnish.core.task.Task")
    if task.name != point.name:
        raise InputError(f"{where} calls itself {task.name!r}: the entry point's name must be the task's")
    return task
