"""LLVM code generation: the passes that each function skips, LLVM's options, and register allocation."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Opener, SearchHints, Setting, Task, TaskPolicies
from burnish.core.trace import Trace
from burnish.core.validator import Validator
from burnish.llvm.modules import parts
from burnish.llvm.modules.diagrams import DRAWINGS
from burnish.llvm.modules.listing import ASSEMBLY, LISTING
from burnish.llvm.modules.parts import GOAL_SETTINGS, goal, pipeline_settings, texts
from burnish.llvm.modules.session import baselines
from burnish.llvm.targets import MACHINES, REGISTERS
from burnish.tasks.llvm_codegen.actions import DESCRIPTIONS, EVICT, LIST_VERSION, OUTLINE
from burnish.tasks.llvm_codegen.objectives import OBJECTIVES
from burnish.tasks.llvm_codegen.observations import DECISIONS, OBSERVATIONS
from burnish.tasks.llvm_codegen.outputs import write_object
from burnish.tasks.llvm_codegen.policy.scorer import load_scorer
from burnish.tasks.llvm_codegen.prior_gains import prior_gains
from burnish.tasks.llvm_codegen.session import CodegenOptions, CodegenSession, open_codegen, open_program

__all__ = ["TASK", "CodegenOptions", "make_codegen", "open_codegen"]

PIPELINES = ("Oz", "Os", "O1", "O2", "O3")
PIPELINE = "clang's level: its passes run first, and it is the baseline; default: O3 for run time, else Oz"
EVICT_POLICY = Setting(
    "evict_policy", "a policy of burnish train regalloc-eviction-*; adds the action evict", metavar="FILE"
)
_EVICTIONS = f"{__name__}.train.eviction_training:EvictionTraining"


def make_codegen(options: CodegenOptions = CodegenOptions()) -> Task:
    """Return the task for a pipeline, a CPU and a policy of evictions.

    Raises:
        InputError: the file of the policy has no policy of evictions.
    """
    first: tuple[Trace, ...] = ((EVICT,),) if options.evict_policy else ()
    hints = _hints(first, MACHINES[0])
    configured = pipeline_settings(make_codegen, CodegenOptions(), PIPELINES, PIPELINE)
    observations = dict(OBSERVATIONS)
    if options.evict_policy:
        options = replace(options, evict_policy=str(Path(options.evict_policy).absolute()))
        load_scorer(Path(options.evict_policy))
        observations[DECISIONS] = replace(
            OBSERVATIONS[DECISIONS], shape=(len(options.actions),), columns=options.actions
        )
    return Task(
        name="llvm_codegen",
        version=LIST_VERSION,
        language=parts.LANGUAGE,
        actions=options.actions,
        observations=observations,
        objectives=OBJECTIVES,
        open=partial(open_program, options=options),
        baselines={
            name: partial(_open_baseline, opener, options.evict_policy)
            for name, opener in baselines(options.cpu).items()
        },
        reference=options.pipeline,
        max_steps=45,
        hints=replace(hints, of_program=partial(_hints_for, first)),
        options=texts(options),
        settings=replace(
            configured,
            settings=(*configured.settings, EVICT_POLICY),
            objective="loaded-bytes",
            goal_settings=GOAL_SETTINGS,
            goal=goal,
        ),
        policies=TaskPolicies(
            settings={"evictions": EVICT_POLICY.name},
            trainings=dict.fromkeys(("eviction-cloning", "eviction-ppo", "eviction-evolution"), _EVICTIONS),
        ),
        files=replace(parts.files(options.pipeline), emitters={".o": write_object}),
        checks=replace(parts.checks(), validator=_validator),
        shown=replace(
            parts.SHOWN,
            objectives=("loaded-bytes", "text-bytes"),
            listings=(ASSEMBLY, LISTING),
            drawings={name: DRAWINGS[name] for name in ("machine code", *DRAWINGS)},
            title="LLVMCodegen",
            former_title="LlvmCodegen",
        ),
        descriptions={
            text: line for text, line in DESCRIPTIONS.items() if text != EVICT or options.evict_policy
        },
        threads=True,
    )


def _hints(first: tuple[Trace, ...], machine: str) -> SearchHints:
    """Return the hints for programs of a machine; the traces `first` come before the others."""
    prior = prior_gains(machine)
    outlined: tuple[Trace, ...] = ((OUTLINE[-1],),) if machine in REGISTERS else ()
    return SearchHints(
        initial_traces=((), *outlined, *first),
        independent_sites=True,
        fixed_legality=True,
        prior_gains=prior.gains,
        suffixes=(*first, *prior.suffixes),
    )


def _hints_for(first: tuple[Trace, ...], session: Session) -> SearchHints:
    row = np.asarray(session.observe("machine"))
    return _hints(first, MACHINES[int(row.argmax())] if row.any() else "")


def _open_baseline(opener: Opener, evict_policy: str, program: Program) -> CodegenSession:
    return open_codegen(opener(program), evict_policy)


def _validator() -> Validator:
    from burnish.llvm.reproducers.sanitize import SANITIZERS, check_program  # late: not for workers

    return Validator(SANITIZERS, check_program)


TASK = make_codegen()
