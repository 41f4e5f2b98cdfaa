"""The parts of a Task that all LLVM tasks share: reading, writing, running and showing modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.objective import parse_growth
from burnish.core.program import Program
from burnish.core.program_source import ProgramSource
from burnish.core.session import Session
from burnish.core.task import Checks, Files, Presentation, Setting, Task, TaskSettings
from burnish.core.validator import Validator
from burnish.llvm.modules.debug_info import without_debug_info
from burnish.llvm.modules.diagrams import DRAWINGS
from burnish.llvm.modules.listing import ASSEMBLY, LISTING
from burnish.llvm.modules.module import emit_as_told, read_module, without_unwind_tables
from burnish.llvm.modules.objectives import level_for, within_limits
from burnish.llvm.run.check import object_behaviour
from burnish.llvm.toolchain import bitcode_to_object, clang_version, is_native

LANGUAGE = "llvm"
NO_TIME = "-mno-incremental-linker-compatible"  # leaves the time of creation out of COFF objects

SHOWN = Presentation(
    ("ir-instructions", "loaded-bytes", "text-bytes"),
    ("O0", "Oz", "O3"),
    label="-{}",
    listings=(LISTING, ASSEMBLY),
    drawings=DRAWINGS,
)

SPEED_LIMIT, STACK_LIMIT, RAM_LIMIT = "speed-limit", "stack-limit", "ram-limit"
STACK_OF_OTHER_MACHINES = "50%"  # the default of STACK_LIMIT there, as burnish.cc.requests.STACK_LIMIT

CPU = Setting(
    "cpu", "processor for functions that do not name one; default: the program's, or x86-64", metavar="CPU"
)
GOAL_SETTINGS = (
    Setting(
        SPEED_LIMIT,
        "how much longer than -Oz the expected run time may be, for fewer loaded bytes: 5% (default), none",
        metavar="PERCENT",
        default="5%",
    ),
    Setting(
        STACK_LIMIT,
        "how much more stack than with -Oz a call may take, for fewer loaded bytes: 0%, 10%, none; default: "
        "50% for other machines, none for this one",
        metavar="PERCENT",
        default="none",
    ),
    Setting(
        RAM_LIMIT,
        "how much more writable data than with -Oz there may be, for fewer loaded bytes: 0%, none (default)",
        metavar="PERCENT",
        default="none",
    ),
)

Options = TypeVar("Options", bound=Any)


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
    """Return the object file with the user's options, by clang's code generation if it can make it."""
    bitcode = write_bitcode(session, arguments, level)
    module = _native.Module(bitcode)
    if not module.has_back_end:
        raise InputError(
            f"made for '{module.triple}', for which this build of burnish cannot make machine code; "
            "write a .bc or .ll file instead of .o"
        )
    if not is_native(module.triple):
        return emit_as_told(module, level, arguments)
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


def goal(objective: str, given: Mapping[str, str], program: Program | None = None) -> str:
    """Return the objective of `burnish optimize` for a program, within the limits of GOAL_SETTINGS.

    Raises:
        ProgramError: the program cannot be read.
    """
    defaults = {setting.name: setting.default for setting in GOAL_SETTINGS}
    if program and objective == "loaded-bytes" and not is_native(read_module(program).triple):
        defaults[STACK_LIMIT] = STACK_OF_OTHER_MACHINES
    texts = (given.get(name) or default for name, default in defaults.items())
    slowdown, stack, ram = (parse_growth(text or "none") for text in texts)
    return within_limits(objective, slowdown, stack_growth=stack, ram_growth=ram)


def pipeline_settings(
    make_task: Callable[[Options], Task], default: Options, pipelines: Sequence[str], description: str
) -> TaskSettings:
    """Return the settings of a task that begins after one of clang's pipelines.

    Options are a dataclass with the texts `pipeline` and `cpu`; `description` has the pipeline's role.
    """
    configure = partial(_configure, make_task, default, tuple(pipelines))
    settings = Setting("pipeline", description, choices=tuple(pipelines)), CPU
    return TaskSettings(settings=settings, configure=configure)


def _configure(
    make_task: Callable[[Options], Task],
    default: Options,
    pipelines: Sequence[str],
    given: Mapping[str, str],
    objective: str | None,
) -> Task:
    options = replace(default, pipeline=level_for(objective)) if objective else default
    if (pipeline := given.get("pipeline", options.pipeline)) not in pipelines:
        raise InputError(f"pipeline is {pipeline!r}; expected one of {', '.join(pipelines)}")
    return make_task(replace(options, **given))


def texts(options: Options) -> dict[str, str]:
    """Return the options that differ from the defaults, as texts."""
    default = vars(type(options)())
    return {name: str(value) for name, value in vars(options).items() if value != default[name]}
