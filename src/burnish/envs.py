"""Gymnasium's ids; importing this module registers them, as Gymnasium's users expect.

    import burnish.envs
    env = gymnasium.make("burnish/LLVMPasses-v0", programs="hot.c")

or, without the import, `gymnasium.make("burnish.envs:burnish/LLVMPasses-v0", ...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium

from burnish.core.env import Env
from burnish.core.program import Program
from burnish.programs import load_program
from burnish.tasks.llvm_passes import TASK


def make_llvm_passes(programs: str | Path | Program | Sequence[str | Path | Program], **options: Any) -> Env:
    """Make the LLVM pass-ordering environment.

    Args:
        programs: One or more C, C++, .ll or .bc files, or programs.
        options: Those of burnish.core.env.Env.

    Raises:
        InputError: a file cannot be used.
    """
    several = [programs] if isinstance(programs, (str, Path, Program)) else list(programs)
    loaded = [item if isinstance(item, Program) else load_program(Path(item)) for item in several]
    return Env(TASK, loaded, **options)


gymnasium.register(
    id="burnish/LLVMPasses-v0",
    entry_point="burnish.envs:make_llvm_passes",
    disable_env_checker=True,  # the tests run it; here it would step a program that nobody asked for
)
