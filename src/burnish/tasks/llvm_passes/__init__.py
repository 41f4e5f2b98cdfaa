"""LLVM pass ordering: a choice of passes, their order and parameters, and the functions they run on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from burnish.core.task import SearchHints, Task
from burnish.core.validator import Validator
from burnish.llvm.modules import parts
from burnish.llvm.modules.objectives import OBJECTIVES
from burnish.llvm.modules.observations import OBSERVATIONS
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.parts import LANGUAGE, texts
from burnish.llvm.modules.passes import ACTIONS, LIST_VERSION, indices, opt_commandline
from burnish.llvm.modules.session import baselines, open_session
from burnish.tasks.llvm_passes.settings import settings_for

__all__ = ["LANGUAGE", "TASK", "Options", "make_task"]


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
        settings=settings_for(make_task),
        files=parts.files(options.level),
        checks=replace(
            parts.checks(), validator=partial(_validator, options.level), commandline=opt_commandline
        ),
        shown=replace(parts.SHOWN, title="LLVMPasses"),
        threads=True,
    )


def _validator(level: str) -> Validator:
    from burnish.llvm.reproducers.reproduce import llvm_validator  # late: workers do not need it
    from burnish.tasks.llvm_passes.tool_commands import tool_command

    return llvm_validator(level, tool_command)


TASK = make_task()
