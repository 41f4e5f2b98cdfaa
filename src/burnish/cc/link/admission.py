"""Admission of a link's units to one module."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish.cc.guard import guarded
from burnish.cc.link.generate import alike
from burnish.cc.link.unit_records import ProgramUnit


def admitted(units: Sequence[ProgramUnit], workspace: Path, deadline_seconds: float) -> list[ProgramUnit]:
    """Return the units, in order, that can be in one module; the others stay objects beside the module.

    Names that assembly refers to must stay visible to the linker, so their units stay objects. Options of the
    code generator for a whole module must be the same for all units.

    Raises:
        KeptReference: a unit is not a valid module.
    """
    named = guarded(lambda: _named_in_assembly(units), deadline_seconds=deadline_seconds, workspace=workspace)
    left = [unit for unit, by_assembly in zip(units, named, strict=True) if not by_assembly]
    return alike(left) if left else []


def _named_in_assembly(units: Sequence[ProgramUnit]) -> list[bool]:
    from burnish import _native

    return [_native.Module(unit.bitcode, unit.job.source).assembly_names_symbols for unit in units]
