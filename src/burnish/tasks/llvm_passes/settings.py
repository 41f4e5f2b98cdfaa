"""User settings: the level, the excluded actions, and the slowdown that a smaller program may have."""

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
    Setting("level", "clang's, to compare with; default: O3 for run time, else Oz", choices=LEVELS),
    Setting(
        "without",
        "actions that are left out, which every result says: names, or beginnings such as 'outline*'",
        metavar="ACTION,...",
        several=True,
        note="Left out of the actions: {}",
    ),
    Setting(
        "always_inline",
        "do not honour always_inline first; every result says so",
        switch=("ignore-always-inline", "False"),
        note="Not comparable with clang's levels: always_inline = {}",
    ),
    Setting("cpu", "of functions that do not name their own; default: x86-64", metavar="CPU"),
)
GOAL_SETTINGS = (
    Setting(
        SPEED_LIMIT,
        "how much slower than -Oz fewer loaded bytes may be, as expected: 5% (default), none",
        metavar="PERCENT",
        default="5%",
    ),
)


def settings_for(make_task: Callable[[Options], Task]) -> TaskSettings:
    """Return the user settings, with functions that apply them."""
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
    """Return the objective of `burnish optimize`, within the limits of GOAL_SETTINGS."""
    return within_limits(objective, parse_growth(given.get(SPEED_LIMIT, "5%")))


def texts(options: Options) -> dict[str, str]:
    """Return the options that differ from the defaults, as texts."""
    default = Options()
    return {
        item.name: str(getattr(options, item.name))
        for item in fields(options)
        if getattr(options, item.name) != getattr(default, item.name)
    }
