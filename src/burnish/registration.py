"""Gymnasium's ids: `gymnasium.make("burnish/LLVMPasses-v0", programs=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnish.core.env import Env
    from burnish.core.program import Program


def register() -> None:
    """Register the environments; Gymnasium calls this when it is imported."""
    import gymnasium

    gymnasium.register(
        id="burnish/LLVMPasses-v0",
        entry_point="burnish.registration:make_llvm_passes",
        disable_env_checker=True,  # its one warning is that masks are not its business
    )


def make_llvm_passes(programs: str | Path | Program | Sequence[str | Path | Program], **options: Any) -> Env:
    """Make the LLVM pass-ordering environment.

    Args:
        programs: One or more C, C++, .ll or .bc files, or programs.
        options: Those of burnish.core.env.Env.

    Raises:
        InputError: a file cannot be used.
    """
    from burnish.core.env import Env
    from burnish.core.program import Program
    from burnish.programs import load_program
    from burnish.tasks.llvm_passes import TASK

    several = [programs] if isinstance(programs, (str, Path, Program)) else list(programs)
    loaded = [item if isinstance(item, Program) else load_program(Path(item)) for item in several]
    return Env(TASK, loaded, **options)
