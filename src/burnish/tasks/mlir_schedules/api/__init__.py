"""Linalg programs as functions: a search for schedules, and callables that run them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnish.tasks.mlir_schedules.api.callables import BoundFunction, ScheduledFunction, compile_schedule
    from burnish.tasks.mlir_schedules.api.torch_modules import ScheduledModule, optimize_module

__all__ = [
    "BoundFunction",
    "ScheduledFunction",
    "ScheduledModule",
    "compile_schedule",
    "optimize_module",
]

_HOMES = {
    "BoundFunction": "callables",
    "ScheduledFunction": "callables",
    "ScheduledModule": "torch_modules",
    "compile_schedule": "callables",
    "optimize_module": "torch_modules",
}


def __getattr__(name: str) -> Any:
    """Import a name at its first use, because half of the names need torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'burnish.schedules' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"burnish.tasks.mlir_schedules.api.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from burnish.core.errors import MissingTool, install

        if error.name != "torch":
            raise
        raise MissingTool(f"torch is not installed: {install('train,mlir')}") from None
