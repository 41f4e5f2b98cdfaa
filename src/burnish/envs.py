"""Gymnasium's ids; importing this module registers them, as Gymnasium's users expect.

    import burnish.envs
    env = gymnasium.make("burnish/LLVMPasses-v1", programs="hot.c")
    several = gymnasium.make_vec("burnish/LLVMPasses-v1", num_envs=4, programs="corpus:train")

or, without the import, `gymnasium.make("burnish.envs:burnish/LLVMPasses-v1", ...)`.
"""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast, overload

import gymnasium
from gymnasium.vector import AutoresetMode

from burnish.core.env import Env
from burnish.core.program import Program
from burnish.core.program_sampler import Programs
from burnish.core.vector import VectorEnv
from burnish.tasks.llvm_passes import TASK

Named = str | os.PathLike[str] | Program
"""A file, a program, or a reference such as "corpus:train" (see burnish.corpora.references)."""


def make_llvm_passes(programs: Named | Sequence[Named] | Callable[[int], Program], **options: Any) -> Env:
    """Make the LLVM pass-ordering environment.

    Args:
        programs: One or more C, C++, .ll or .bc files, references ("corpus:train", "kernels:fft",
            "random:0..99") or programs, or a function from a number to a program.
        options: Those of burnish.core.env.Env.

    Raises:
        InputError: a file cannot be used.
    """
    return Env(TASK, find_programs(programs), **options)


def make_llvm_passes_vector(
    programs: Named | Sequence[Named] | Callable[[int], Program],
    *,
    num_envs: int = 1,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    workers: int | None = None,
    **options: Any,
) -> VectorEnv:
    """Make several of them whose compilers work at the same time, in so many workers at most."""
    make = partial(Env, TASK, find_programs(programs), **options)
    return VectorEnv(make, num_envs, autoreset_mode, workers)


def find_programs(programs: Named | Sequence[Named] | Callable[[int], Program]) -> Programs:
    """Return programs for an environment; what a corpus holds is opened when it is its turn.

    Raises:
        InputError: a file or a reference cannot be used.
    """
    if callable(programs) or isinstance(programs, Program):
        return programs
    if isinstance(programs, (str, os.PathLike)):
        return _resolve(programs)
    if not isinstance(programs, (list, tuple)):
        return cast(Sequence[Program], programs)  # a corpus
    parts = [(item,) if isinstance(item, Program) else _resolve(item) for item in programs]
    return parts[0] if len(parts) == 1 else Chain(parts)


class Chain(Sequence[Program]):
    """Sequences of programs, one behind the other; what they hold is opened when it is asked for."""

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
        number = range(len(self))[index]  # which raises IndexError, and counts from the end
        part = bisect.bisect_right(self._ends, number)
        return self._parts[part][number - self._ends[part]]


def _resolve(name: str | os.PathLike[str]) -> Sequence[Program]:
    from burnish.corpora.references import resolve

    return resolve(os.fspath(name))


gymnasium.register(
    id="burnish/LLVMPasses-v1",
    entry_point="burnish.envs:make_llvm_passes",
    vector_entry_point="burnish.envs:make_llvm_passes_vector",
    disable_env_checker=True,  # the tests run it; here it would step a program that nobody asked for
)
