"""Schedules of linalg programs: the tiling, fusion, packing and vectorization of their ops."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from burnish.core.listing import Listing, whole
from burnish.core.program import Program
from burnish.core.program_source import ProgramSource
from burnish.core.session import Session
from burnish.core.task import (
    Checks,
    Files,
    Opener,
    Presentation,
    SearchHints,
    Task,
    TaskPolicies,
    TaskSettings,
)
from burnish.tasks.mlir_schedules.actions import ACTIONS, DESCRIPTIONS
from burnish.tasks.mlir_schedules.diagrams import DRAWINGS
from burnish.tasks.mlir_schedules.observations import OBSERVATIONS
from burnish.tasks.mlir_schedules.order import INTERCHANGE, ORDER, UNRESTRICTED, Restrictions, restrictions_of
from burnish.tasks.mlir_schedules.outputs import describe, emit_shared_object, write_schedule
from burnish.tasks.mlir_schedules.reading import LANGUAGE
from burnish.tasks.mlir_schedules.session import open_program, toolchain
from burnish.tasks.tensors.c_interface import emit_header, emit_object
from burnish.tasks.tensors.session import OBJECTIVES, behaviour
from burnish.tasks.tensors.threads import THREADS, threads_of

__all__ = ["TASK"]

NAMES = re.compile(r"(?<=%)\w+|(?<=#)map\d*\b")  # of values and of maps, which MLIR gives anew in each text


def _source() -> ProgramSource:
    from burnish.tasks.mlir_schedules.programs import MlirSource  # late: workers do not need it

    return MlirSource()


def _open_torch(mode: str, program: Program, original: str) -> Session:
    from burnish.tasks.mlir_schedules.peers.session import open_torch  # late: few commands need it

    return open_torch(mode, program, original)


def make_task(threads: int = 1, restrictions: Restrictions = UNRESTRICTED) -> Task:
    """Return the task; with several threads, they share the iterations of parallel loops."""
    opened: Opener = open_program
    if threads > 1 or restrictions:
        opened = partial(open_program, threads=threads, restrictions=restrictions)
    return Task(
        name="mlir_schedules",
        version=0,
        language=LANGUAGE,
        actions=ACTIONS,
        observations=OBSERVATIONS,
        objectives=OBJECTIVES,
        open=opened,
        baselines={"naive": opened},
        reference="naive",
        max_steps=60,
        hints=SearchHints(max_trace=120),
        options={**({THREADS.name: str(threads)} if threads > 1 else {}), **restrictions.options},
        settings=TaskSettings(settings=(THREADS, ORDER, INTERCHANGE), configure=_configure),
        policies=TaskPolicies(
            kinds={"op-schedule-costs": f"{__name__}.policy.op_proposals:load_for"},
            trainings={"op-schedule-costs": f"{__name__}.train.op_cost_training:op_schedule_costs"},
        ),
        files=Files(
            make_source=_source,
            emitters={
                ".so": emit_shared_object,
                ".o": emit_object,
                ".h": emit_header,
                ".mlir": write_schedule,
            },
            written_beside={".so": (".h",), ".o": (".h",)},
        ),
        checks=Checks(
            behaviour,
            toolchain=toolchain,
            peers={
                "torch": partial(_open_torch, "eager"),
                "torch.compile": partial(_open_torch, "compile"),
                "torch.jit": partial(_open_torch, "jit"),
            },
        ),
        shown=Presentation(
            ("seconds",),
            describe=describe,
            listings=(
                Listing("module", whole, NAMES, label="MLIR"),
                Listing("schedule", whole, NAMES),
            ),
            drawings=DRAWINGS,
            title="MLIRSchedules",
        ),
        descriptions=DESCRIPTIONS,
    )


def _configure(given: Mapping[str, str], objective: str | None) -> Task:
    return make_task(threads_of(given), restrictions_of(given))


TASK = make_task()
