"""What a user may choose: the level, which actions are left out, how much slower smaller may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial

from burnish.core.errors import InputError
from burnish.core.objective import parse_growth
from burnish.core.setting import Setting
from burnish.core.task import Task, TaskSettings
from burnish.llvm.toolchain import LEVELS
from burnish.tasks.llvm_passes.actions import left_out
from burnish.tasks.llvm_passes.objectives import level_for, within_limits
from burnish.tasks.llvm_passes.origin import Options

SPEED_LIMIT = "speed-limit"

SETTINGS = (
    Setting("level", "clang's level as the baseline; default: O3 for run time, else Oz", choices=LEVELS),
    Setting(
        "without",
        "actions to leave out: names, or prefixes such as 'outline*'; every result names them",
        metavar="ACTION,...",
        several=True,
        note="Left out of the actions: {}",
    ),
    Setting(
        "always_inline",
        "do not honour always_inline first; every result notes this",
        switch=("ignore-always-inline", "False"),
        note="Not comparable with clang's levels: always_inline = {}",
    ),
    Setting("cpu", "processor for functions that do not name one; default: x86-64", metavar="CPU"),
)
GOAL_SETTINGS = (
    Setting(
        SPEED_LIMIT,
        "how much longer than -Oz the expected run time may be, for fewer loaded bytes: 5% (default), none",
        metavar="PERCENT",
        default="5%",
    ),
)


def settings_for(make_task: Callable[[Options], Task]) -> TaskSettings:
    """Return what users may choose, and what becomes of it."""
    return TaskSettings("loaded-bytes", SETTINGS, partial(_configure, make_task), GOAL_SETTINGS, goal)


def _configure(make_task: Callable[[Options], Task], given: Mapping[str, str], objective: str | None) -> Task:
    options = Options(level=level_for(objective)) if objective else Options()
    for name, text in given.items():
        match name:
            case "without":
                options = replace(options, without=left_out(text.split(",")))
            case "always_inline":
                if text not in ("True", "False"):
                    raise InputError(f"always_inline is {text!r}; expected True or False")
                options = replace(options, always_inline=text == "True")
            case "level":
                options = replace(options, level=text)
            case "cpu":
                options = replace(options, cpu=text)
    if options.level not in LEVELS:
        raise InputError(f"level is {options.level!r}; expected one of {', '.join(LEVELS)}")
    return make_task(options)


def goal(objective: str, given: Mapping[str, str]) -> str:
    """Return an objective within the limits that users of `burnish optimize` mean, by GOAL_SETTINGS."""
    return within_limits(objective, parse_growth(given.get(SPEED_LIMIT, "5%")))


def texts(options: Options) -> dict[str, str]:
    """Return the options that differ from the default's, as texts."""
    default = Options()
    return {
        item.name: str(getattr(options, item.name))
        for item in fields(options)
        if getattr(options, item.name) != getattr(default, item.name)
    }
