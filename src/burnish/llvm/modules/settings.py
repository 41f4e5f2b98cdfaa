"""User settings that all LLVM tasks share: the pipeline, the CPU, and the slowdown limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeVar

from burnish.core.errors import InputError
from burnish.core.objective import parse_growth
from burnish.core.task import Setting, Task, TaskSettings
from burnish.llvm.modules.objectives import level_for, within_limits

SPEED_LIMIT = "speed-limit"

CPU = Setting("cpu", "processor for functions that do not name one; default: x86-64", metavar="CPU")
GOAL_SETTINGS = (
    Setting(
        SPEED_LIMIT,
        "how much longer than -Oz the expected run time may be, for fewer loaded bytes: 5% (default), none",
        metavar="PERCENT",
        default="5%",
    ),
)

Options = TypeVar("Options", bound=Any)


def goal(objective: str, given: Mapping[str, str]) -> str:
    """Return the objective of `burnish optimize`, within the limits of GOAL_SETTINGS."""
    return within_limits(objective, parse_growth(given.get(SPEED_LIMIT, "5%")))


def pipeline_settings(
    make_task: Callable[[Options], Task], default: Options, pipelines: Sequence[str], description: str
) -> TaskSettings:
    """Return the settings of a task that begins after one of clang's pipelines.

    Options are a dataclass with the texts `pipeline` and `cpu`; `description` has the pipeline's role.
    """
    configure = partial(_configure, make_task, default, tuple(pipelines))
    settings = Setting("pipeline", description, choices=tuple(pipelines)), CPU
    return TaskSettings(settings=settings, configure=configure)


def _configure(
    make_task: Callable[[Options], Task],
    default: Options,
    pipelines: Sequence[str],
    given: Mapping[str, str],
    objective: str | None,
) -> Task:
    options = replace(default, pipeline=level_for(objective)) if objective else default
    if (pipeline := given.get("pipeline", options.pipeline)) not in pipelines:
        raise InputError(f"pipeline is {pipeline!r}; expected one of {', '.join(pipelines)}")
    return make_task(replace(options, **given))


def texts(options: Options) -> dict[str, str]:
    """Return the options that differ from the defaults, as texts."""
    default = type(options)()
    return {
        item.name: str(getattr(options, item.name))
        for item in fields(options)
        if getattr(options, item.name) != getattr(default, item.name)
    }
