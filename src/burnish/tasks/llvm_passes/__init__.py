"""LLVM pass ordering: which passes, in which order, with which parameters, and on which functions."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from burnish.core.task import Task
from burnish.tasks.llvm_passes.actions import ACTIONS, LIST_VERSION, indices, opt_commandline
from burnish.tasks.llvm_passes.baselines import baselines
from burnish.tasks.llvm_passes.modules import without_unwind_tables
from burnish.tasks.llvm_passes.objectives import OBJECTIVES
from burnish.tasks.llvm_passes.observations import OBSERVATIONS
from burnish.tasks.llvm_passes.session import Options, open_session

__all__ = ["LANGUAGE", "TASK", "Options", "make_task"]

LANGUAGE = "llvm"


def make_task(options: Options = Options()) -> Task:
    """Return the task for other options than the default's: speed levels, another CPU, fewer actions."""
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
        initial_traces=((start,),) if start in actions else (),
        commandline=opt_commandline,
        variants={"without-unwind-tables": without_unwind_tables},
        options={
            name: str(value) for name, value in asdict(options).items() if value != getattr(Options(), name)
        },
    )


TASK = make_task()
