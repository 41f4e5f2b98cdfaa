"""LLVM inlining: answers for the calls that LLVM asks about in the middle of clang's pipeline."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from burnish.core.task import SearchHints, Task, TaskPolicies
from burnish.core.validator import Validator
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.objectives import OBJECTIVES
from burnish.tasks.llvm_inlining.observations import OBSERVATIONS
from burnish.tasks.llvm_inlining.session import InliningOptions, open_inlining
from burnish.tasks.llvm_inlining.settings import settings_for, texts
from burnish.tasks.llvm_passes import TASK as PASSES
from burnish.tasks.llvm_passes import make_task as make_passes
from burnish.tasks.llvm_passes.baselines import baselines
from burnish.tasks.llvm_passes.origin import Options

__all__ = ["TASK", "InliningOptions", "make_inlining"]

VERSION = 0


def make_inlining(options: InliningOptions = InliningOptions()) -> Task:
    """Return the task for a pipeline and a CPU."""
    passes = make_passes(Options(level=options.pipeline, cpu=options.cpu))
    return Task(
        name="llvm_inlining",
        version=VERSION,
        language=passes.language,
        actions=ACTIONS,
        observations=OBSERVATIONS,
        objectives=OBJECTIVES,
        open=partial(open_inlining, options=options),
        baselines=baselines(options.cpu),
        reference=options.pipeline,
        max_steps=None,  # LLVM decides how many questions it asks
        hints=SearchHints(max_trace=0, max_trace_by_site=2),  # inlining a call adds questions
        options=texts(options),
        settings=settings_for(make_inlining),
        policies=TaskPolicies(
            trainings={"answer-values": f"{__name__}.train.credit_training:AnswerValuesTraining"},
            default_observations=f"{__name__}.policy.default_traces:default_observations",
        ),
        files=passes.files,
        checks=replace(passes.checks, validator=_validator, commandline=None),
        shown=replace(PASSES.shown, title="LLVMInlining", former_title="LlvmInlining"),
        threads=False,  # forks share their compiles, so one fork may drop a compile that another one uses
    )


def _validator() -> Validator:
    from burnish.llvm.reproducers.sanitize import (  # late: workers do not need it
        SANITIZERS,
        check_program,
        check_state,
    )

    return Validator(SANITIZERS, check_program, check_state)


TASK = make_inlining()
