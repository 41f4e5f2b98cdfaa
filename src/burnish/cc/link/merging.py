"""Merging of the units that a link takes into one module."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from burnish.cc.improve import limits
from burnish.cc.jobs import ClangJob
from burnish.cc.link.admission import admitted
from burnish.cc.link.generate import pattern
from burnish.cc.link.inputs import linked_files
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.module_candidates import ProgramModule
from burnish.cc.link.probe import taken_units
from burnish.cc.link.resolve import Inputs, resolve, without_units
from burnish.cc.link.unit_records import ProgramUnit
from burnish.cc.requests import Compiled, DriverOptions, KeptReference, Optimizer


@dataclass(frozen=True)
class Link:
    """The data of one link that every step needs."""

    job: LinkJob
    program: Path  # made by the linker from the objects
    options: DriverOptions
    optimizer: Optimizer
    workspace: Path
    compiled: Compiled  # clang's command that linked


@dataclass(frozen=True)
class Merged:
    """The units of a link as one module."""

    module: ProgramModule
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
    step_seconds = limits(link.compiled.clang_seconds, 0.0).step_seconds
    files = linked_files(link.job.command)
    if not files:
        raise KeptReference(
            "no object has a unit: the objects were made without --whole-program, or not for size"
        )
    taken = taken_units(link.job, files, link.workspace, step_seconds)
    units = admitted(taken, link.workspace, step_seconds)
    if not units:
        raise KeptReference("the linker took no unit that can become part of a module")
    inputs = without_units(files, units, link.workspace)
    bitcode = resolve(link.job, inputs, units, link.workspace, step_seconds)
    seconds = sum(unit.seconds for unit in units)
    longest = link.options.build_seconds or link.options.budget.longest_seconds(seconds)
    module = ProgramModule(bitcode, limits(seconds, longest), link.workspace)
    return Merged(module, tuple(units), inputs, pattern(units, is_shared=link.job.is_shared))
