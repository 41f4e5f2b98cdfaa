"""Schedules of loop nests over tensors: the order of loops, their blocks, and their vectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from burnish.core.listing import Listing, whole
from burnish.core.program import Program
from burnish.core.program_source import ProgramSource
from burnish.core.task import Checks, Files, Presentation, Task, TaskPolicies, TaskSettings
from burnish.tasks.loop_nests.actions import ACTIONS, DESCRIPTIONS
from burnish.tasks.loop_nests.diagrams import DRAWINGS
from burnish.tasks.loop_nests.nest import LANGUAGE
from burnish.tasks.loop_nests.observations import OBSERVATIONS
from burnish.tasks.loop_nests.outputs import describe, write_ir, write_loops, write_picture
from burnish.tasks.loop_nests.session import open_nest
from burnish.tasks.tensors.c_interface import emit_header, emit_object
from burnish.tasks.tensors.session import OBJECTIVES, behaviour
from burnish.tasks.tensors.threads import THREADS, threads_of

__all__ = ["LANGUAGE", "TASK", "make_task"]

IR = Listing("llvm_ir", whole, re.compile(r"(?<=[a-z]\.)\d+\b"), label="IR")


def _source() -> ProgramSource:
    from burnish.tasks.loop_nests.programs import NestSource  # late: workers do not need it

    return NestSource()


def _toolchain() -> Mapping[str, str]:
    from burnish._native import llvm_version

    return {"llvm": llvm_version()}


def _other_extents(program: Program) -> Program:
    from burnish.tasks.loop_nests.programs import other_extents

    return other_extents(program)


def make_task(threads: int = 1) -> Task:
    """Return the task; with several threads, they may share the iterations of a loop."""
    opened = partial(open_nest, threads=threads) if threads > 1 else open_nest
    return Task(
        name="loop_nests",
        version=0,
        language=LANGUAGE,
        actions=ACTIONS,
        observations=OBSERVATIONS,
        objectives=OBJECTIVES,
        open=opened,
        baselines={"naive": opened},
        reference="naive",
        max_steps=40,
        options={THREADS.name: str(threads)} if threads > 1 else {},
        settings=TaskSettings(settings=(THREADS,), configure=_configure),
        policies=TaskPolicies(
            kinds={
                "schedule-costs": f"{__name__}.policy.proposals:load_for",
                "schedule-comparison": f"{__name__}.policy.tournament:load_for",
            },
            trainings={
                "schedule-costs": f"{__name__}.train.cost_training:schedule_costs",
                "schedule-comparison": f"{__name__}.train.cost_training:schedule_comparison",
            },
        ),
        files=Files(
            make_source=_source,
            emitters={
                ".loops": write_loops,
                ".ll": write_ir,
                ".o": emit_object,
                ".h": emit_header,
                ".svg": write_picture,
            },
            variants={"other-extents": _other_extents},
        ),
        checks=Checks(behaviour, toolchain=_toolchain),
        shown=Presentation(
            ("seconds",),
            describe=describe,
            listings=(Listing("loop_tree", whole, label="loops"), IR),
            drawings=DRAWINGS,
        ),
        descriptions=DESCRIPTIONS,
    )


def _configure(given: Mapping[str, str], objective: str | None) -> Task:
    return make_task(threads_of(given))


TASK = make_task()
