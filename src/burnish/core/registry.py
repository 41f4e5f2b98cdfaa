"""The registry of tasks: packages, burnish included, declare their tasks as entry points.

A package declares each task in the group `burnish.tasks` of its own pyproject.toml. The value refers to a
burnish.core.task.Task, as in examples/gcc_flags:

    [project.entry-points."burnish.tasks"]
    gcc_flags = "gcc_flags:TASK"
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points

from burnish.core.errors import InputError, UnknownName
from burnish.core.task import Task

GROUP = "burnish.tasks"


@cache
def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, burnish's own first."""
    return (*_own(), *sorted(_others()))


def default_task() -> Task:
    """Return burnish's first task, the default if a user names no task."""
    return load_task(next(iter(_own())))


def load_task(name: str) -> Task:
    """Return a task by its name, with or without its version ("llvm_passes", "llvm_passes-v1").

    Raises:
        UnknownName: there is no such task, or the task has another version.
        InputError: another package's task cannot be loaded.
    """
    if not isinstance(name, str):
        raise UnknownName.among("task", name, task_names())
    plain = name.partition("-v")[0]
    point = _own().get(plain) or _others().get(plain)
    if point is None:
        raise UnknownName.among("task", name, task_names())
    task = _load(point)
    if name not in (plain, task.id):
        raise UnknownName.among("task", name, [task.id])
    return task


def task_for(texts: Sequence[str], name: str | None = None) -> Task:
    """Return the task of a name; for None, the first task whose source takes all `texts`.

    Raises:
        InputError: no task takes all texts; its subclass UnknownName: there is no such task.
    """
    if name is not None:
        return load_task(name)
    if not texts:
        return default_task()
    for known in task_names():
        task = load_task(known)
        if all(map(task.source().takes, texts)):
            return task
    sources = [load_task(known).source() for known in task_names()]
    strange = [text for text in texts if not any(source.takes(text) for source in sources)]
    if not strange:
        raise InputError(f"{texts[0]}, {texts[1]}: no task takes both; give programs of one task")
    if default_task().source().takes(texts[0]):
        return default_task()  # whose error says more
    raise InputError(f"{strange[0]}: no task takes this; expected {program_kinds()}")


def program_kinds() -> str:
    """Return the forms of a program's text: each form once, with the first task that takes it."""
    by_form: dict[str, str] = {}
    for name in task_names():
        by_form.setdefault(load_task(name).source().kinds, name)
    (first, _), *others = by_form.items()
    return "; ".join([first, *(f"for {name} {form}" for form, name in others)])


@cache
def _own() -> dict[str, EntryPoint]:
    """Return burnish's own tasks, in the order of its pyproject.toml; reads only burnish's metadata."""
    try:
        found = {point.name: point for point in distribution("burnish").entry_points if point.group == GROUP}
    except PackageNotFoundError:
        found = {}
    if not found:
        raise InputError("the installed burnish has no tasks; install it again (in a clone: make setup)")
    return found


@cache
def _others() -> dict[str, EntryPoint]:
    """Return the tasks of other packages, without those that have a name of burnish's own tasks."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _own()}


@cache
def _load(point: EntryPoint) -> Task:
    if point in _own().values():
        own: Task = point.load()
        return own
    where = f"the task {point.name} of {point.dist.name if point.dist else 'another package'}"
    try:
        task = point.load()
    except Exception as error:  # importing another package can raise anything
        raise InputError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(task, Task):
        raise InputError(f"{where}: {point.value} is not a burnish.core.task.Task")
    if task.name != point.name:
        raise InputError(f"{where} has the task name {task.name!r}; expected the name of its entry point")
    return task
