"""What a user may choose: the pipeline, the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial

from burnish.core.errors import InputError
from burnish.core.setting import Setting
from burnish.core.task import Task, TaskSettings
from burnish.tasks.llvm_inlining.session import InliningOptions
from burnish.tasks.llvm_passes.objectives import level_for

PIPELINES = ("Oz", "Os", "O2", "O3")

SETTINGS = (
    Setting(
        "pipeline",
        "clang's level: its inliner asks, and it is the baseline; default: O3 for run time, else Oz",
        choices=PIPELINES,
    ),
    Setting("cpu", "processor for functions that do not name one; default: x86-64", metavar="CPU"),
)


def settings_for(make_task: Callable[[InliningOptions], Task]) -> TaskSettings:
    """Return what users may choose, and what becomes of it."""
    return TaskSettings(settings=SETTINGS, configure=partial(_configure, make_task))


def _configure(
    make_task: Callable[[InliningOptions], Task], given: Mapping[str, str], objective: str | None
) -> Task:
    options = InliningOptions(pipeline=level_for(objective)) if objective else InliningOptions()
    if (pipeline := given.get("pipeline", options.pipeline)) not in PIPELINES:
        raise InputError(f"pipeline is {pipeline!r}; expected one of {', '.join(PIPELINES)}")
    return make_task(replace(options, **given))


def texts(options: InliningOptions) -> dict[str, str]:
    """Return the options that differ from the default's, as texts."""
    default = InliningOptions()
    names = [item.name for item in fields(options)]
    return {name: value for name in names if (value := getattr(options, name)) != getattr(default, name)}
