"""What tasks on LLVM modules add to `burnish validate`: sanitizers, and folders for LLVM's bug tracker."""

from __future__ import annotations

from functools import partial

from burnish.core.validator import Validator
from burnish.llvm.reproducers.reproduce import reproduce
from burnish.llvm.reproducers.sanitize import SANITIZERS, check_program, check_state
from burnish.llvm.reproducers.stock_tools import FindCommand

__all__ = ["llvm_validator"]


def llvm_validator(level: str, find_command: FindCommand) -> Validator:
    """Return the validator of a task whose states have a bitcode and an ir observation.

    Args:
        level: clang's, for code generation.
        find_command: Says which command of LLVM's own tools does what entries do.
    """
    show = partial(reproduce, level=level, find_command=find_command)
    return Validator(SANITIZERS, check_program, check_state, show)
