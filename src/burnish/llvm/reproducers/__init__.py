"""`burnish validate` for tasks on LLVM modules: sanitizers, and reproducers for LLVM's bug tracker."""

from __future__ import annotations

from functools import partial

from burnish.core.validator import Validator
from burnish.llvm.reproducers.reproduce import reproduce
from burnish.llvm.reproducers.sanitize import SANITIZERS, check_program, check_state
from burnish.llvm.reproducers.stock_tools import FindCommand

__all__ = ["llvm_validator"]


def llvm_validator(level: str, find_command: FindCommand) -> Validator:
    """Return the validator of a task whose states have the observations `bitcode` and `ir`."""
    show = partial(reproduce, level=level, find_command=find_command)
    return Validator(SANITIZERS, check_program, check_state, show)
