"""Registration of the environments with Gymnasium; importing this module registers their ids.

    import burnish.envs
    env = gymnasium.make("burnish/LLVMPasses-v1", programs="hot.c")
    several = gymnasium.make_vec("burnish/LLVMPasses-v1", num_envs=4, programs="corpus:train")

or, without the import, `gymnasium.make("burnish.envs:burnish/LLVMPasses-v1", ...)`. Every task of
`burnish tasks` has an id, including tasks of other packages. With `Text` before the version,
burnish/LLVMPassesText-v1, the environment speaks to language models: see burnish.envs.text_env.
"""

from __future__ import annotations

import bisect
import inspect
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast, overload

import gymnasium
from gymnasium.vector import AutoresetMode

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.registry import load_task, task_names
from burnish.core.task import Task
from burnish.envs.env import Env
from burnish.envs.program_sampler import Programs
from burnish.envs.text_env import TextEnv
from burnish.envs.vector import VectorEnv

Named = str | os.PathLike[str] | Program
"""A file, a program, or another name that the task's source takes, such as "corpus:train"."""


def make(
    task: str | Task,
    programs: Named | Sequence[Named] | Callable[[int], Program] | None = None,
    **options: Any,
) -> Env:
    """Make the environment of a task.

    Args:
        task: The task, or its name.
        programs: One or more programs, files or other names of the task's source ("corpus:train",
            "random:0..99"), or a function from a number to a program.
        options: The keyword arguments of burnish.envs.env.Env.

    Raises:
        InputError: a file cannot be used.
    """
    found = _task(task)
    _check_options(options, Env)
    return Env(found, find_programs(found, programs), **options)


def make_vector(
    task: str | Task,
    programs: Named | Sequence[Named] | Callable[[int], Program] | None = None,
    *,
    num_envs: int = 1,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    workers: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> VectorEnv:
    """Make several environments whose compilers run in parallel: see burnish.envs.vector.VectorEnv."""
    found = _task(task)
    _check_options(options, Env)
    one = partial(Env, found, find_programs(found, programs), **options)
    return VectorEnv(one, num_envs, autoreset_mode, workers, threads)


def make_text(
    task: str | Task,
    programs: Named | Sequence[Named] | Callable[[int], Program] | None = None,
    **options: Any,
) -> TextEnv:
    """Make the environment of a task in text: see burnish.envs.text_env.TextEnv."""
    found = _task(task)
    _check_options(options, TextEnv, Env)
    return TextEnv(found, find_programs(found, programs), **options)


def find_programs(
    task: Task, programs: Named | Sequence[Named] | Callable[[int], Program] | None
) -> Programs:
    """Return programs for an environment; a corpus opens each program at its turn.

    Raises:
        InputError: a file or a name cannot be used.
    """
    if callable(programs) or isinstance(programs, Program):
        return programs
    source = task.source()
    if isinstance(programs, (str, os.PathLike)):
        return source.open(os.fspath(programs))
    if not hasattr(programs, "__getitem__"):
        raise InputError(f"programs={programs!r}: expected {source.kinds}, a Program, or a list of them")
    if not isinstance(programs, (list, tuple)):
        return cast(Sequence[Program], programs)  # a corpus
    for item in programs:
        if not isinstance(item, str | os.PathLike | Program):
            raise InputError(f"programs=[..., {item!r}]: expected {source.kinds}, or a Program")
    parts = [(item,) if isinstance(item, Program) else source.open(os.fspath(item)) for item in programs]
    return parts[0] if len(parts) == 1 else Chain(parts)


def _task(task: str | Task) -> Task:
    if isinstance(task, Task):
        return task
    return load_task(task)


def _check_options(options: Mapping[str, Any], *classes: type) -> None:
    """Check the names of an environment's options.

    Raises:
        UnknownName: an option is unknown.
    """
    parameters = {name for one in classes for name in inspect.signature(one).parameters}
    known = sorted(parameters - {"task", "programs", "options"})
    for name in options:
        if name not in known:
            raise UnknownName.among("option of an environment", name, known)


class Chain(Sequence[Program]):
    """Concatenated sequences of programs; each program is opened on access."""

    def __init__(self, parts: Sequence[Sequence[Program]]) -> None:
        self._parts = parts
        self._ends = list(itertools.accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> list[Program]: ...
    def __getitem__(self, index: int | slice) -> Program | list[Program]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]  # raises IndexError, and supports negative numbers
        part = bisect.bisect_right(self._ends, number)
        return self._parts[part][number - self._ends[part]]


def _register() -> None:
    for name in task_names():
        try:
            task = load_task(name)
        except InputError as error:  # another package's task is broken: register the other tasks
            gymnasium.logger.warn(str(error))
            continue
        for gymnasium_id in task.gymnasium_ids:
            gymnasium.register(
                id=gymnasium_id,
                entry_point="burnish.envs:make",
                vector_entry_point="burnish.envs:make_vector",
                kwargs={"task": task.name},
                disable_env_checker=True,  # the checker would make extra steps; the tests run it
            )
        gymnasium.register(
            id=task.text_id,
            entry_point="burnish.envs:make_text",
            kwargs={"task": task.name},
            disable_env_checker=True,
        )


_register()
