"""Gymnasium's ids; importing this module registers them, as Gymnasium's users expect.

    import burnish.envs
    env = gymnasium.make("burnish/LLVMPasses-v0", programs="hot.c")
    several = gymnasium.make_vec("burnish/LLVMPasses-v0", num_envs=4, programs="hot.c")

or, without the import, `gymnasium.make("burnish.envs:burnish/LLVMPasses-v0", ...)`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import gymnasium
from gymnasium.vector import AutoresetMode

from burnish.core.env import Env
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.turns import Programs
from burnish.core.vector import VectorEnv
from burnish.programs import load_program
from burnish.tasks.llvm_passes import TASK

Named = str | os.PathLike[str] | Program
"""A file, a program, or a reference such as "corpus:train" (see burnish.corpora.references)."""


def make_llvm_passes(programs: Named | Sequence[Named] | Callable[[int], Program], **options: Any) -> Env:
    """Make the LLVM pass-ordering environment.

    Args:
        programs: One or more C, C++, .ll or .bc files, references or programs, or a function from a
            number to a program.
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
    **options: Any,
) -> VectorEnv:
    """Make several of them whose compilers work at the same time; the programs are shared."""
    make = partial(Env, TASK, find_programs(programs), **options)
    return VectorEnv(make, num_envs, autoreset_mode)


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
    found = [[item] if isinstance(item, Program) else _resolve(item) for item in programs]
    if len(found) == 1:
        return found[0]
    if not all(isinstance(part, list) for part in found):
        raise InputError("a reference to a corpus goes alone: it is not opened to be put into a list")
    return [program for part in found for program in part]


def _resolve(name: str | os.PathLike[str]) -> Sequence[Program]:
    return [load_program(Path(name))]


gymnasium.register(
    id="burnish/LLVMPasses-v0",
    entry_point="burnish.envs:make_llvm_passes",
    vector_entry_point="burnish.envs:make_llvm_passes_vector",
    disable_env_checker=True,  # the tests run it; here it would step a program that nobody asked for
)
