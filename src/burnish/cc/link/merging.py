"""The units that a link takes, as one module."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from burnish.cc.guard import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.link.admission import admitted, pattern
from burnish.cc.link.inputs import linked_files
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.probe import taken_units
from burnish.cc.link.resolve import Inputs, resolve, without_units
from burnish.cc.link.unit_records import ProgramUnit
from burnish.cc.outcomes import Build
from burnish.cc.requests import KeptReference


@dataclass(frozen=True)
class Link:
    """One link, and the command that it is of."""

    job: LinkJob
    program: Path  # that the linker made of the objects
    build: Build


@dataclass(frozen=True)
class Merged:
    """The units of a link as one module."""

    bitcode: bytes  # before any pass
    guard: Guard  # of what is done to it
    units: tuple[ProgramUnit, ...]
    inputs: Inputs  # of the link, without them
    pattern: ClangJob  # by whose options the module's code is generated

    @property
    def level(self) -> str:
        """The level of most units."""
        return Counter(unit.job.level for unit in self.units).most_common(1)[0][0]

    @property
    def clang_seconds(self) -> float:
        """What clang took for the units, in processor time."""
        return sum(unit.seconds for unit in self.units)

    @property
    def spent_seconds(self) -> float:
        """What burnish took for the units before the link."""
        return sum(unit.spent_seconds for unit in self.units)


def merge(link: Link) -> Merged:
    """Make one module of what the linker took.

    Raises:
        KeptReference: there is nothing of it, or it cannot be one.
    """
    build, workspace = link.build, link.build.workspace
    files = linked_files(link.job.command)
    if not files:
        raise KeptReference("no object has a unit: they were made without --whole-program, or not for size")
    guard = build.guard()
    taken = taken_units(link.job, files, workspace, guard.step_seconds)
    units = admitted(taken, guard)
    if not units:
        raise KeptReference("the linker took no unit that can be part of a module")
    inputs = without_units(files, units, workspace)
    bitcode = resolve(link.job, inputs, units, workspace, guard.step_seconds)
    of_units = build.guard(sum(unit.seconds for unit in units))
    return Merged(bitcode, of_units, tuple(units), inputs, pattern(units, is_shared=link.job.is_shared))
