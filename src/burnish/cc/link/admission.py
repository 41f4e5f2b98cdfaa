"""Which of a link's units can be parts of one module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish.cc.guard import guarded
from burnish.cc.link.generate import alike
from burnish.cc.link.unit_records import ProgramUnit


def admitted(units: Sequence[ProgramUnit], workspace: Path, deadline_seconds: float) -> list[ProgramUnit]:
    """Return the units, in order, that can be one module's; the others stay objects, and are linked with it.

    A name that assembly says must be the linker's to find, and what the code generator is told of a whole
    module has to be the same for all.

    Raises:
        KeptReference: one is no valid module.
    """
    named = guarded(lambda: _named_in_assembly(units), deadline_seconds=deadline_seconds, workspace=workspace)
    left = [unit for unit, by_assembly in zip(units, named, strict=True) if not by_assembly]
    return alike(left) if left else []


def _named_in_assembly(units: Sequence[ProgramUnit]) -> list[bool]:
    from burnish import _native

    return [_native.Module(unit.bitcode, unit.job.source).assembly_names_symbols for unit in units]
