"""LLVM pass ordering: a choice of passes, their order and parameters, and the functions they run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from burnish.core.errors import InputError
from burnish.core.task import SearchHints, Setting, Task, TaskSettings
from burnish.core.validator import Validator
from burnish.llvm.modules import parts
from burnish.llvm.modules.descriptions import DESCRIPTIONS
from burnish.llvm.modules.objectives import OBJECTIVES, level_for
from burnish.llvm.modules.observations import OBSERVATIONS
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.parts import CPU, GOAL_SETTINGS, LANGUAGE, goal, texts
from burnish.llvm.modules.passes import ACTIONS, LIST_VERSION, indices, left_out, opt_commandline
from burnish.llvm.modules.session import baselines, open_session
from burnish.llvm.toolchain import LEVELS

__all__ = ["LANGUAGE", "TASK", "Options", "make_task"]

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
    Setting(
        "profile",
        "first profile the program's own runs, as with -fprofile-use; the baselines have no profile",
        switch=("profile", "True"),
        note="Optimized with a profile of the program's own runs: profile = {}",
    ),
    CPU,
)


def make_task(options: Options = Options()) -> Task:
    """Return the task with some options, such as a speed level, another CPU, or fewer actions."""
    actions = tuple(ACTIONS[i] for i in indices(options.without))
    start = f"clang<{options.level}>"
    return Task(
        name="llvm_passes",
        version=LIST_VERSION,
        language=LANGUAGE,
        actions=actions,
        observations=OBSERVATIONS,
        objectives=OBJECTIVES,
        open=partial(open_session, options=options),
        baselines=baselines(options.cpu),
        reference=options.level,
        max_steps=45,
        hints=SearchHints(((start,),) if start in actions else (), longer="llvm_passes_and_codegen"),
        options=texts(options),
        settings=TaskSettings("loaded-bytes", SETTINGS, _configure, GOAL_SETTINGS, goal),
        files=parts.files(options.level),
        checks=replace(
            parts.checks(), validator=partial(_validator, options.level), commandline=opt_commandline
        ),
        shown=replace(parts.SHOWN, title="LLVMPasses"),
        descriptions=DESCRIPTIONS,
        threads=True,
    )


def _configure(given: Mapping[str, str], objective: str | None) -> Task:
    options = Options(level=level_for(objective)) if objective else Options()
    for name, text in given.items():
        match name:
            case "without":
                options = replace(options, without=left_out(text.split(",")))
            case "always_inline":
                options = replace(options, always_inline=_switch(name, text))
            case "profile":
                options = replace(options, profile=_switch(name, text))
            case "level":
                options = replace(options, level=text)
            case "cpu":
                options = replace(options, cpu=text)
    if options.level not in LEVELS:
        raise InputError(f"level is {options.level!r}; expected one of {', '.join(LEVELS)}")
    return make_task(options)


def _switch(name: str, text: str) -> bool:
    if text not in ("True", "False"):
        raise InputError(f"{name} is {text!r}; expected True or False")
    return text == "True"


def _validator(level: str) -> Validator:
    from burnish.llvm.reproducers.reproduce import llvm_validator  # late: workers do not need it
    from burnish.tasks.llvm_passes.tool_commands import tool_command

    return llvm_validator(level, tool_command)


TASK = make_task()
