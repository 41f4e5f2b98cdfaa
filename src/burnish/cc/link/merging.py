"""Merging of the units that a link takes into one module."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from burnish.cc.isolation import Guard
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
    """One link, and the command that it belongs to."""

    job: LinkJob
    program: Path  # made of the objects by the linker
    build: Build


@dataclass(frozen=True)
class Merged:
    """The units of a link as one module."""

    bitcode: bytes  # before any pass
    guard: Guard  # for the steps on the module
    units: tuple[ProgramUnit, ...]
    inputs: Inputs  # of the link, without the units
    pattern: ClangJob  # the job whose options generate the module's code

    @property
    def level(self) -> str:
        """The most frequent level of the units."""
        return Counter(unit.job.level for unit in self.units).most_common(1)[0][0]

    @property
    def clang_seconds(self) -> float:
        """The processor time of clang for the units."""
        return sum(unit.seconds for unit in self.units)

    @property
    def spent_seconds(self) -> float:
        """The time of burnish for the units before the link."""
        return sum(unit.spent_seconds for unit in self.units)


def merge(link: Link) -> Merged:
    """Merge the units that the linker took into one module.

    Raises:
        KeptReference: there are no units, or they cannot be one module.
    """
    build, workspace = link.build, link.build.workspace
    files = linked_files(link.job.command)
    if not files:
        raise KeptReference(
            "no object has a unit: the objects were made without --whole-program, or not for size"
        )
    guard = build.guard()
    taken = taken_units(link.job, files, workspace, guard.step_seconds)
    units = admitted(taken, guard)
    if not units:
        raise KeptReference("the linker took no unit that can become part of a module")
    inputs = without_units(files, units, workspace)
    bitcode = resolve(link.job, inputs, units, workspace, guard.step_seconds)
    of_units = build.guard(sum(unit.seconds for unit in units))
    return Merged(bitcode, of_units, tuple(units), inputs, pattern(units, is_shared=link.job.is_shared))
