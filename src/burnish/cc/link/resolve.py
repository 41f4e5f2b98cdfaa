"""The units of a link as one module, with lld's decision which symbols must stay visible.

lld works as for link-time optimization, with the user's own command. It takes one definition of each name by
the rules of linking. It keeps symbols that objects without a unit, shared libraries, version scripts and
options ask for, and makes all others internal (LTO::runRegularLTO in llvm/lib/LTO/LTO.cpp). Then it writes
the module, before any pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish import _native
from burnish.cc.link.inputs import LinkedFile
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.unit_records import ProgramUnit
from burnish.cc.requests import KeptReference
from burnish.llvm.toolchain import find_tool

# lld runs almost no passes, generates no code, and writes the module once all symbols are resolved.
_OPTIONS = ("--lto-emit-llvm", "--lto-O0", "--save-temps=internalize")
_WRITTEN = ".0.2.internalize.bc"


@dataclass(frozen=True)
class Inputs:
    """The words of a link command without some units' objects."""

    words: dict[int, tuple[Path, ...]]  # by position
    first: int  # the position of the first of those objects


def without_units(files: Sequence[LinkedFile], units: Sequence[ProgramUnit], folder: Path) -> Inputs:
    """Return the inputs of a link without the objects of the units, which other inputs replace.

    Archives are written again without these objects.
    """
    seals = {unit.seal for unit in units}
    words: dict[int, tuple[Path, ...]] = {}
    for file in files:
        left = [member for member, found in file.parts if not (found and found.unit.seal in seals)]
        if len(left) == len(file.parts):
            continue
        words[file.index] = ()
        if left:
            path = folder / f"rest-{file.index}" / file.path.name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(_native.archive_of([member.content for member in left]))
            words[file.index] = (path,)
    return Inputs(words, min(words))


def resolve(
    job: LinkJob, inputs: Inputs, units: Sequence[ProgramUnit], folder: Path, deadline_seconds: float
) -> bytes:
    """Return the bitcode of the units' module, before any pass.

    Args:
        job: The link.
        inputs: Its inputs without the units.
        units: The units in the linker's order.
        folder: The folder for intermediate files.
        deadline_seconds: The most seconds for lld; only a hung process needs more.

    Raises:
        KeptReference: lld does not link the units.
    """
    paths = []
    for number, unit in enumerate(units):
        paths.append(folder / f"unit-{number}.bc")
        paths[-1].write_bytes(unit.bitcode)
    output = folder / "resolved"
    first = (*paths, *inputs.words[inputs.first])
    changed = job.changed({**inputs.words, inputs.first: first}, output)
    LinkJob((str(find_tool("ld.lld")), *changed.command[1:], *_OPTIONS)).run(deadline_seconds)
    written = output.with_name(output.name + _WRITTEN)
    try:
        return written.read_bytes()
    except OSError:
        raise KeptReference("lld links no part of the units") from None
