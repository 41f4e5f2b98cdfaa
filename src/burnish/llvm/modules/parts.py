"""The parts of a Task that all LLVM tasks share: reading, writing, running and showing modules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program_source import ProgramSource
from burnish.core.session import Session
from burnish.core.task import Checks, Files, Presentation
from burnish.core.validator import Validator
from burnish.llvm.modules.debug_info import without_debug_info
from burnish.llvm.modules.module import without_unwind_tables
from burnish.llvm.run.object_behaviour import object_behaviour
from burnish.llvm.toolchain import bitcode_to_object, clang_version

LANGUAGE = "llvm"
NO_TIME = "-mno-incremental-linker-compatible"  # leaves the time of creation out of COFF objects

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
    return {"llvm": _native.llvm_version(), "clang": clang_version()}


def write_object(session: Session, arguments: tuple[str, ...], level: str) -> bytes:
    """Return the object file that clang's code generation makes with the user's options."""
    bitcode = write_bitcode(session, arguments, level)
    module = _native.Module(bitcode)
    if not module.has_back_end:
        raise InputError(
            f"made for '{module.triple}', for which this build of burnish cannot make machine code; "
            "write a .bc or .ll file instead of .o"
        )
    target = f"--target={module.triple}"  # otherwise clang uses this machine's
    return bitcode_to_object(bitcode, (target, NO_TIME, *arguments), level=level)


def write_bitcode(session: Session, _arguments: tuple[str, ...], _level: str) -> bytes:
    """Return the module as bitcode."""
    content = session.observe("bitcode")
    assert isinstance(content, bytes)
    return content


def write_text(session: Session, _arguments: tuple[str, ...], _level: str) -> bytes:
    """Return the module as LLVM IR text."""
    content = session.observe("ir")
    assert isinstance(content, str)
    return content.encode()
