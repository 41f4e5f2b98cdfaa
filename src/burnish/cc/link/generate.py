"""The object of a whole program's module: clang's code generation, as for the units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from burnish.cc import processes
from burnish.cc.improve import code_generation
from burnish.cc.jobs import ClangJob
from burnish.cc.link.unit_records import ProgramUnit

# Options of clang -cc1 for the code generation of a whole module, which no function attribute shows. Units
# that differ in them cannot share a module. -mrelocation-model is not among them: see `pattern`.
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


def alike(units: Sequence[ProgramUnit]) -> list[ProgramUnit]:
    """Return the units, in order, that can share a module: the largest group with equal options."""
    groups: dict[tuple[str, ...], list[ProgramUnit]] = defaultdict(list)
    for unit in units:
        groups[_signature(unit.job)].append(unit)
    return max(groups.values(), key=lambda group: sum(len(unit.bitcode) for unit in group))


def _signature(job: ClangJob) -> tuple[str, ...]:
    found = [word for word in job.command if word.startswith(_ALONE)]
    found += [f"{option} {value}" for option, value in pairwise(job.command) if option in _WITH_VALUE]
    return tuple(sorted(found))


def pattern(units: Sequence[ProgramUnit], *, is_shared: bool) -> ClangJob:
    """Return the job whose options generate the module's code: by relocation model, C++ before C.

    A program prefers fixed addresses, then PIE; a shared library prefers code that can be in a library.
    """
    return max((unit.job for unit in units), key=lambda job: _rank(job, is_shared))


def _rank(job: ClangJob, is_shared: bool) -> tuple[int, bool]:
    fixed, movable = not job.position_independent, "-pic-is-pie" in job.command
    place = (not fixed, not movable) if is_shared else (fixed, movable)
    return 2 * place[0] + place[1], job.language.startswith("c++")


def generate(job: ClangJob, bitcode: bytes, output: Path, deadline_seconds: float) -> None:
    """Write the object of a module after its passes.

    Raises:
        KeptReference: clang fails.
    """
    path = output.with_suffix(".bc")
    path.write_bytes(bitcode)
    processes.run_quietly(code_generation(job.silenced(), path, output).command, deadline_seconds)
