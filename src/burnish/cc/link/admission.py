"""Units of a link that can become one module, and the job with the options for its code generation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from burnish.cc.isolation import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.link.unit_records import ProgramUnit

# Options of clang -cc1 that the code generator reads for a whole module, because no attribute of a function
# replaces them. Units with different ones cannot share a module. -mrelocation-model is not here, because each
# unit's own is valid in the linker's program.
_WITH_VALUE = ("-triple", "-target-abi", "-mllvm", "-exception-model")
_ALONE = (
    "-mcmodel=",
    "-ffp-contract=",
    "-fno-use-init-array",
    "-femulated-tls",
    "-fno-unique-section-names",
    "-mlarge-data-threshold=",
    "-menable-no-",
    "-funsafe-math",
    "-ffast-math",
    "-fdenormal-fp-math",
    "-mfloat-abi",
    "-msoft-float",
    "-mstack-alignment=",
    "-stack-protector-guard",
    "-fzero-call-used-regs",
    "-fcf-protection",
    "-mno-tls-direct-seg-refs",
    "-fno-plt",
    "-gdwarf64",
)


def admitted(units: Sequence[ProgramUnit], guard: Guard) -> list[ProgramUnit]:
    """Return the units, in order, that can become one module; the others are linked with it as objects.

    Names that assembly refers to must stay visible to the linker, so their units stay objects. Options of the
    code generator for a whole module must be the same for all units.

    Raises:
        KeptReference: a unit is not a valid module.
    """
    named = guard.step(lambda: _named_in_assembly(units))
    left = [unit for unit, by_assembly in zip(units, named, strict=True) if not by_assembly]
    return alike(left) if left else []


def _named_in_assembly(units: Sequence[ProgramUnit]) -> list[bool]:
    from burnish import _native

    return [_native.Module(unit.bitcode, unit.job.source).assembly_names_symbols for unit in units]


def alike(units: Sequence[ProgramUnit]) -> list[ProgramUnit]:
    """Return the largest group of units, in bytes of bitcode, with the same options for code generation."""
    groups: dict[tuple[str, ...], list[ProgramUnit]] = defaultdict(list)
    for unit in units:
        groups[_signature(unit.job)].append(unit)
    return max(groups.values(), key=lambda group: sum(len(unit.bitcode) for unit in group))


def _signature(job: ClangJob) -> tuple[str, ...]:
    found = [word for word in job.command if word.startswith(_ALONE)]
    found += [f"{option} {value}" for option, value in pairwise(job.command) if option in _WITH_VALUE]
    return tuple(sorted(found))


def pattern(units: Sequence[ProgramUnit], *, is_shared: bool) -> ClangJob:
    """Return the job whose options generate the module's code; C++ comes before C."""
    return max((unit.job for unit in units), key=lambda job: _rank(job, is_shared))


def _rank(job: ClangJob, is_shared: bool) -> tuple[int, bool]:
    fixed, movable = not job.position_independent, "-pic-is-pie" in job.command
    place = (not fixed, not movable) if is_shared else (fixed, movable)
    return 2 * place[0] + place[1], job.language.startswith("c++")
