"""The units that a link takes as one module, with lld's decision which symbols must stay visible.

lld works as for link-time optimization, with the user's own command. It takes one definition of each name by
the rules of linking. It keeps symbols that objects without a unit, shared libraries, version scripts and
options ask for, and makes all others internal (LTO::runRegularLTO in llvm/lib/LTO/LTO.cpp). Then it writes
the module, before any pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from burnish import _native
from burnish.cc.isolation import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.link import gnu_link
from burnish.cc.link.gnu_link import GnuLink
from burnish.cc.link.inputs import LinkedFile, linked_files, taken_units
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.units import ProgramUnit
from burnish.cc.outcomes import Build
from burnish.cc.requests import KeptReference

# lld runs almost no passes, generates no code, and writes the module once all symbols are resolved.
_OPTIONS = ("--lto-emit-llvm", "--lto-O0", "--save-temps=internalize")
_WRITTEN = ".0.2.internalize.bc"

# Options of clang -cc1 that the code generator reads for a whole module, because no attribute of a function
# replaces them. Units with different ones cannot share a module. -mrelocation-model is not here, because each
# unit's own is valid in the linker's program.
_WITH_VALUE = ("-triple", "-target-abi", "-mllvm", "-exception-model")
_ALONE = tuple(
    """
    -mcmodel= -ffp-contract= -fno-use-init-array -femulated-tls -fno-unique-section-names
    -mlarge-data-threshold= -menable-no- -funsafe-math -ffast-math -fdenormal-fp-math -mfloat-abi
    -msoft-float -mstack-alignment= -stack-protector-guard -fzero-call-used-regs -fcf-protection
    -mno-tls-direct-seg-refs -fno-plt -gdwarf64
    """.split()
)

# Words of a link command without some units' objects, by their positions: the first position is that of the
# first of these objects.
Words = dict[int, tuple[Path, ...]]


@dataclass(frozen=True)
class Merged:
    """The units of a link as one module."""

    build: Build  # the command
    job: LinkJob  # its link
    units: tuple[ProgramUnit, ...]
    words: Words  # of the link, without the units
    objects: tuple[bytes, ...]  # of the units
    bitcode: bytes  # before any pass
    guard: Guard  # for the steps on the module
    is_first: bool = True  # False: another program's link has searched with some of the units

    @property
    def pattern(self) -> ClangJob:
        """The job whose options generate the module's code."""
        return pattern(self.units, is_shared=self.job.is_shared)

    @property
    def level(self) -> str:
        """The most frequent level of the units."""
        return Counter(unit.job.level for unit in self.units).most_common(1)[0][0]

    @property
    def clang_seconds(self) -> float:
        """The processor time of clang for the units."""
        return sum(unit.seconds for unit in self.units)

    def shared(self, programs: Sequence[int]) -> Merged:
        """Return the same, where the time of each unit is divided among some number of programs."""
        divided = (
            replace(unit, seconds=unit.seconds / number, spent_seconds=unit.spent_seconds / number)
            for unit, number in zip(self.units, programs, strict=True)
        )
        return replace(self, units=tuple(divided), is_first=max(programs) == 1)


def merge(build: Build, job: LinkJob) -> Merged:
    """Merge the units that the linker took into one module.

    Raises:
        KeptReference: there are no units, or they cannot be one module.
    """
    guard, folder = build.guard(), build.workspace
    files = linked_files(job.command)
    if not files:
        raise KeptReference(
            "no object has a unit: the objects were made without --whole-program, or not for size"
        )
    if isinstance(job, GnuLink):
        known = [part.found.unit for file in files for part in file.parts if part.found]
        units, bitcode = gnu_link.resolve(job, files, _admitted(known, guard), folder, guard)
        words = without_units(files, units, folder)
    else:
        units = _admitted(taken_units(job, files, folder, guard.step_seconds), guard)
        if not units:
            raise KeptReference("the linker took no unit that can become part of a module")
        words = without_units(files, units, folder)
        bitcode = resolve(job, words, units, folder, guard.step_seconds)
    guard = build.guard(sum(unit.seconds for unit in units))
    return Merged(build, job, tuple(units), words, _objects_of(files, units), bitcode, guard)


def _admitted(units: Sequence[ProgramUnit], guard: Guard) -> list[ProgramUnit]:
    """Return the units, in order, that can become one module; the others are linked with it as objects.

    Names that assembly refers to must stay visible to the linker, so their units stay objects.
    """

    def named_in_assembly() -> list[bool]:
        return [_native.Module(unit.bitcode, unit.job.source).assembly_names_symbols for unit in units]

    named = guard.step(named_in_assembly)
    left = [unit for unit, by_assembly in zip(units, named, strict=True) if not by_assembly]
    return alike(left) if left else []


def alike(units: Sequence[ProgramUnit]) -> list[ProgramUnit]:
    """Return the largest group of units, in bytes of bitcode, with the same options for code generation."""
    groups: dict[tuple[str, ...], list[ProgramUnit]] = defaultdict(list)
    for unit in units:
        command = unit.job.command
        options = [word for word in command if word.startswith(_ALONE)]
        options += [f"{option} {value}" for option, value in pairwise(command) if option in _WITH_VALUE]
        groups[tuple(sorted(options))].append(unit)
    return max(groups.values(), key=lambda group: sum(len(unit.bitcode) for unit in group))


def pattern(units: Sequence[ProgramUnit], *, is_shared: bool) -> ClangJob:
    """Return the job whose options generate the module's code; C++ comes before C."""

    def rank(job: ClangJob) -> tuple[bool, bool, bool]:
        fixed, movable = not job.position_independent, "-pic-is-pie" in job.command
        place = (not fixed, not movable) if is_shared else (fixed, movable)
        return (*place, job.language.startswith("c++"))

    return max((unit.job for unit in units), key=rank)


def without_units(files: Sequence[LinkedFile], units: Sequence[ProgramUnit], folder: Path) -> Words:
    """Return the words of a link without the objects of the units; their archives are written again."""
    seals = {unit.seal for unit in units}
    words: Words = {}
    for file in files:
        left = [part.content for part in file.parts if not (part.found and part.found.unit.seal in seals)]
        if len(left) == len(file.parts):
            continue
        words[file.index] = ()
        if left:
            path = folder / f"rest-{file.index}" / file.path.name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(_native.archive_of(left))
            words[file.index] = (path,)
    return words


def _objects_of(files: Sequence[LinkedFile], units: Sequence[ProgramUnit]) -> tuple[bytes, ...]:
    seals = {unit.seal for unit in units}
    parts = [part for file in files for part in file.parts]
    return tuple(part.content for part in parts if part.found and part.found.unit.seal in seals)


def replaced(words: Words, *objects: Path) -> Words:
    """Return the words of a link with other objects in place of the units' objects."""
    first = min(words)
    return {**words, first: (*objects, *words[first])}


def resolve(
    job: LinkJob, words: Words, units: Sequence[ProgramUnit], folder: Path, deadline_seconds: float
) -> bytes:
    """Return the bitcode, before any pass, of the module of units that are given in the linker's order.

    Raises:
        KeptReference: lld does not link the units.
    """
    paths = []
    for number, unit in enumerate(units):
        paths.append(folder / f"unit-{number}.bc")
        paths[-1].write_bytes(unit.bitcode)
    output = folder / "resolved"
    job.changed(replaced(words, *paths), output).by_lld(*_OPTIONS).run(deadline_seconds)
    try:
        return output.with_name(output.name + _WRITTEN).read_bytes()
    except OSError:
        raise KeptReference("lld links no part of the units") from None
