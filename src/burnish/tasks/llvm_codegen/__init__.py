"""LLVM code generation: the passes that each function skips, and the order of register allocation."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from burnish.core.program import Program
from burnish.core.task import Opener, SearchHints, Task, TaskPolicies
from burnish.core.validator import Validator
from burnish.tasks.llvm_codegen.actions import ACTIONS, LIST_VERSION
from burnish.tasks.llvm_codegen.objectives import OBJECTIVES
from burnish.tasks.llvm_codegen.observations import OBSERVATIONS
from burnish.tasks.llvm_codegen.outputs import write_object
from burnish.tasks.llvm_codegen.prior_gains import PRIOR_GAINS, SUFFIXES
from burnish.tasks.llvm_codegen.session import CodegenOptions, CodegenSession, open_codegen, open_program
from burnish.tasks.llvm_codegen.settings import settings_for, texts
from burnish.tasks.llvm_passes import TASK as PASSES
from burnish.tasks.llvm_passes import make_task as make_passes
from burnish.tasks.llvm_passes.baselines import baselines
from burnish.tasks.llvm_passes.origin import Options

__all__ = ["TASK", "CodegenOptions", "make_codegen", "open_codegen"]

_EVICTIONS = f"{__name__}.train.eviction_training:EvictionTraining"


def make_codegen(options: CodegenOptions = CodegenOptions()) -> Task:
    """Return the task for a pipeline and a CPU."""
    passes = make_passes(Options(level=options.pipeline, cpu=options.cpu))
    return Task(
        name="llvm_codegen",
        version=LIST_VERSION,
        language=passes.language,
        actions=ACTIONS,
        observations=OBSERVATIONS,
        objectives=OBJECTIVES,
        open=partial(open_program, options=options),
        baselines={name: partial(_open_baseline, opener) for name, opener in baselines(options.cpu).items()},
        reference=options.pipeline,
        max_steps=45,
        hints=SearchHints(independent_sites=True, prior_gains=PRIOR_GAINS, suffixes=SUFFIXES),
        options=texts(options),
        settings=settings_for(make_codegen),
        policies=TaskPolicies(
            trainings=dict.fromkeys(("eviction-cloning", "eviction-ppo", "eviction-evolution"), _EVICTIONS)
        ),
        files=replace(passes.files, emitters={".o": write_object}),
        checks=replace(passes.checks, validator=_validator, commandline=None),
        shown=replace(
            PASSES.shown,
            objectives=("loaded-bytes", "text-bytes"),
            title="LLVMCodegen",
            former_title="LlvmCodegen",
        ),
        threads=True,
    )


def _open_baseline(opener: Opener, program: Program) -> CodegenSession:
    return open_codegen(opener(program))


def _validator() -> Validator:
    from burnish.llvm.reproducers.sanitize import SANITIZERS, check_program  # late: not for workers

    return Validator(SANITIZERS, check_program)


TASK = make_codegen()
