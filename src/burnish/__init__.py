"""burnish learns to optimize programs with real compilers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from burnish.core.env import Env
    from burnish.core.problem import Problem
    from burnish.core.program import Program
    from burnish.core.result import Result
    from burnish.core.sandbox import Sandbox
    from burnish.core.task import Task
    from burnish.core.worker import Limits
    from burnish.evaluation import Strategy, optimize
    from burnish.programs import load_program
    from burnish.search import Budget
    from burnish.tasks import load_task

__all__ = [
    "Budget",
    "Env",
    "Limits",
    "Problem",
    "Program",
    "Result",
    "Sandbox",
    "Strategy",
    "Task",
    "load_program",
    "load_task",
    "optimize",
]

_HOMES = {
    "Budget": "burnish.search",
    "Env": "burnish.core.env",
    "Limits": "burnish.core.worker",
    "Problem": "burnish.core.problem",
    "Program": "burnish.core.program",
    "Result": "burnish.core.result",
    "Sandbox": "burnish.core.sandbox",
    "Strategy": "burnish.evaluation",
    "Task": "burnish.core.task",
    "load_program": "burnish.programs",
    "load_task": "burnish.tasks",
    "optimize": "burnish.evaluation",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, when it is: a drop-in compiler starts in milliseconds."""
    if name not in _HOMES:
        raise AttributeError(f"module 'burnish' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
