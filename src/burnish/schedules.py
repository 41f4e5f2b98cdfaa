"""Linalg programs and torch modules as scheduled functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burnish.tasks.mlir_schedules import api

if TYPE_CHECKING:
    from burnish.tasks.mlir_schedules.api import (
        BoundFunction,
        ScheduledFunction,
        ScheduledModule,
        compile_schedule,
        optimize_module,
    )

__all__ = ["BoundFunction", "ScheduledFunction", "ScheduledModule", "compile_schedule", "optimize_module"]


def __getattr__(name: str) -> Any:
    """Return a name from the task's own API."""
    return getattr(api, name)
