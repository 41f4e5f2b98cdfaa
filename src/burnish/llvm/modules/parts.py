"""The parts of a Task that all LLVM tasks share: reading, writing, running and showing modules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from burnish.core.program_source import ProgramSource
from burnish.core.task import Checks, Files, Presentation
from burnish.core.validator import Validator
from burnish.llvm.modules.debug_info import without_debug_info
from burnish.llvm.modules.module import without_unwind_tables
from burnish.llvm.modules.outputs import write_bitcode, write_object, write_text
from burnish.llvm.run.object_behaviour import object_behaviour

LANGUAGE = "llvm"

SHOWN = Presentation(("ir-instructions", "loaded-bytes", "text-bytes"), ("O0", "Oz", "O3"), label="-{}")


def files(level: str) -> Files:
    """Return the files of programs that clang's front end makes at a level."""
    return Files(
        make_source=partial(_source, level),
        emitters={".o": write_object, ".bc": write_bitcode, ".ll": write_text},
        variants={"without-unwind-tables": without_unwind_tables},
        searched=without_debug_info,
    )


def checks() -> Checks:
    """Return the checks of programs and states: by runs and by sanitizers."""
    return Checks(object_behaviour, _validator, toolchain=_toolchain)


def _source(level: str) -> ProgramSource:
    from burnish.llvm.corpora.references import ModuleSource  # late: workers do not need it

    return ModuleSource(level)


def _validator() -> Validator:
    from burnish.llvm.reproducers.sanitize import SANITIZERS, check_program, check_state  # late: as above

    return Validator(SANITIZERS, check_program, check_state)


def _toolchain() -> Mapping[str, str]:
    from burnish._native import llvm_version
    from burnish.llvm.toolchain import clang_version

    return {"llvm": llvm_version(), "clang": clang_version()}
