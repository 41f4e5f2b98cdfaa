"""LLVM inlining: answers for the calls that LLVM asks about in the middle of clang's pipeline."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from burnish.core.task import SearchHints, Task, TaskPolicies
from burnish.llvm.modules import parts
from burnish.llvm.modules.parts import pipeline_settings, texts
from burnish.llvm.modules.session import baselines
from burnish.tasks.llvm_inlining.actions import ACTIONS, DESCRIPTIONS
from burnish.tasks.llvm_inlining.objectives import OBJECTIVES
from burnish.tasks.llvm_inlining.observations import OBSERVATIONS
from burnish.tasks.llvm_inlining.session import InliningOptions, open_inlining

__all__ = ["TASK", "InliningOptions", "make_inlining"]

VERSION = 0
PIPELINES = ("Oz", "Os", "O2", "O3")
PIPELINE = "clang's level: its inliner asks, and it is the baseline; default: O3 for run time, else Oz"


def make_inlining(options: InliningOptions = InliningOptions()) -> Task:
    """Return the task for a pipeline and a CPU."""
    return Task(
        name="llvm_inlining",
        version=VERSION,
        language=parts.LANGUAGE,
        actions=ACTIONS,
        observations=OBSERVATIONS,
        objectives=OBJECTIVES,
        open=partial(open_inlining, options=options),
        baselines=baselines(options.cpu),
        reference=options.pipeline,
        max_steps=None,  # LLVM decides how many questions it asks
        hints=SearchHints(max_trace=0, max_trace_by_site=2),  # inlining a call adds questions
        options=texts(options),
        settings=pipeline_settings(make_inlining, InliningOptions(), PIPELINES, PIPELINE),
        policies=TaskPolicies(
            trainings={"answer-values": f"{__name__}.train.credit_training:AnswerValuesTraining"},
            default_observations=f"{__name__}.policy.default_traces:default_observations",
            decided=f"{__name__}.policy.default_traces:best_decided",
        ),
        files=parts.files(options.pipeline),
        checks=parts.checks(),
        shown=replace(parts.SHOWN, title="LLVMInlining", former_title="LlvmInlining"),
        descriptions=DESCRIPTIONS,
        threads=False,  # forks share their compiles, so one fork may drop a compile that another one uses
    )


TASK = make_inlining()
