"""LLVM pass ordering: a choice of passes, their order and parameters, and the functions they run on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from burnish.core.program_source import ProgramSource
from burnish.core.task import Checks, Files, Presentation, SearchHints, Task
from burnish.core.validator import Validator
from burnish.llvm.run.object_behaviour import object_behaviour
from burnish.tasks.llvm_passes.actions import ACTIONS, LIST_VERSION, indices, opt_commandline
from burnish.tasks.llvm_passes.baselines import baselines
from burnish.tasks.llvm_passes.debug_info import without_debug_info
from burnish.tasks.llvm_passes.modules import without_unwind_tables
from burnish.tasks.llvm_passes.objectives import OBJECTIVES
from burnish.tasks.llvm_passes.observations import OBSERVATIONS
from burnish.tasks.llvm_passes.origin import Options
from burnish.tasks.llvm_passes.outputs import write_bitcode, write_object, write_text
from burnish.tasks.llvm_passes.session import open_session
from burnish.tasks.llvm_passes.settings import settings_for, texts

__all__ = ["LANGUAGE", "TASK", "Options", "make_task"]

LANGUAGE = "llvm"


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
        files=Files(
            make_source=partial(_source, options.level),
            emitters={".o": write_object, ".bc": write_bitcode, ".ll": write_text},
            variants={"without-unwind-tables": without_unwind_tables},
            searched=without_debug_info,
        ),
        checks=Checks(object_behaviour, partial(_validator, options.level), opt_commandline, _toolchain),
        shown=Presentation(
            ("ir-instructions", "loaded-bytes", "text-bytes"),
            ("O0", "Oz", "O3"),
            label="-{}",
            title="LLVMPasses",
        ),
        threads=True,
    )


def _source(level: str) -> ProgramSource:
    from burnish.llvm.corpora.module_source import (
        ModuleSource,  # late: workers that step environments do not need it
    )

    return ModuleSource(level)


def _validator(level: str) -> Validator:
    from burnish.llvm.reproducers import llvm_validator  # late: as above
    from burnish.tasks.llvm_passes.tool_commands import tool_command

    return llvm_validator(level, tool_command)


def _toolchain() -> Mapping[str, str]:
    from burnish._native import llvm_version
    from burnish.llvm.toolchain import clang_version

    return {"llvm": llvm_version(), "clang": clang_version()}


TASK = make_task()
