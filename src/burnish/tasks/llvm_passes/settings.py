"""User settings: the level, the excluded actions, and the slowdown that a smaller program may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from burnish.core.errors import InputError
from burnish.core.task import Setting, Task, TaskSettings
from burnish.llvm.modules.objectives import level_for
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.parts import CPU, GOAL_SETTINGS, goal
from burnish.llvm.modules.passes import left_out
from burnish.llvm.toolchain import LEVELS

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
    CPU,
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
