"""burnish learns to optimize programs with real compilers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from burnish.core.program import Program
    from burnish.core.registry import load_task
    from burnish.core.result import Result
    from burnish.core.task import Task
    from burnish.envs.contract import check_task
    from burnish.envs.env import Env
    from burnish.evaluation import Strategy, optimize
    from burnish.llvm.programs import load_program
    from burnish.search import Budget
    from burnish.search.problem import Problem
    from burnish.workers.sandbox import Sandbox
    from burnish.workers.worker import Limits

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
    "check_task",
    "load_program",
    "load_task",
    "optimize",
]

_HOMES = {
    "Budget": "burnish.search",
    "Env": "burnish.envs.env",
    "Limits": "burnish.workers.worker",
    "Problem": "burnish.search.problem",
    "Program": "burnish.core.program",
    "Result": "burnish.core.result",
    "Sandbox": "burnish.workers.sandbox",
    "Strategy": "burnish.evaluation",
    "Task": "burnish.core.task",
    "check_task": "burnish.envs.contract",
    "load_program": "burnish.llvm.programs",
    "load_task": "burnish.core.registry",
    "optimize": "burnish.evaluation",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that a drop-in compiler starts in milliseconds."""
    if name not in _HOMES:
        raise AttributeError(f"module 'burnish' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
