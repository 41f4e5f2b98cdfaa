"""Output files of a schedule: a shared object, a C header, the transforms; and its speed for display."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import cast

from burnish.core.errors import CompileError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.tasks.mlir_schedules import bindings, lowering
from burnish.tasks.mlir_schedules.payload import Payload, naming, sequence
from burnish.tasks.mlir_schedules.reference.work import flops
from burnish.tasks.tensors import c_interface
from burnish.tasks.tensors.c_interface import Argument, check_name
from burnish.tasks.tensors.machine import host

PACKED = "_mlir_"  # prefix of the second function that the engine adds; it takes an array of pointers
function_name = partial(c_interface.function_name, prefix="mlir")
LIBRARIES = ("-Wl,--as-needed", "-lm")
GIGA = 1e9


def emit_shared_object(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .so file: the function of `emit_object`, linked."""
    return link_shared(session.object_code())


def link_shared(code: bytes) -> bytes:
    """Link an object file, and return the content of the shared object.

    Raises:
        CompileError: the linker fails; its output is in the message.
        MissingTool: clang is not installed.
    """
    from burnish.llvm.toolchain import find_tool

    with tempfile.TemporaryDirectory() as folder:
        given, made, exported = (Path(folder) / name for name in ("kernel.o", "kernel.so", "exported"))
        given.write_bytes(code)
        exported.write_text(f"{{ local: {PACKED}*; }};\n")
        flags = ("-shared", "-fuse-ld=lld", f"-Wl,--version-script={exported}", "-Wl,-z,text")
        words = [str(find_tool("clang")), *flags, str(given), *LIBRARIES, "-o", str(made)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"the schedule's object file cannot be linked\n{done.stderr.strip()}")
        return made.read_bytes()


def write_header(payload: Payload, name: str, bounds: Sequence[int | None] = ()) -> str:
    """Return the header that declares the function of an object file.

    bounds: The bounds of the inputs that are indices: see `bounds_of`.

    Raises:
        InputError: the name is not valid in C.
    """
    check_name(name)
    below = {f"input{number}": most for number, most in enumerate(bounds)}
    arguments = [
        Argument(f"{label}{number}", one.dtype, one.shape, label == "input", below.get(f"{label}{number}"))
        for label, types in (("input", payload.inputs), ("output", payload.outputs))
        for number, one in enumerate(types)
    ]
    note = (
        "Inputs at multiples of\n64 bytes are read faster. Calls with other outputs may run on other threads."
    )
    return c_interface.write_header(name, host().cpu, arguments, note)


def schedule_text(opened: Payload, scheduled: Payload, script: Sequence[str]) -> str:
    """Return the schedule as a named sequence, for the program's module as it was opened.

    `mlir-opt --transform-interpreter` of the same version applies the sequence; only passes come after it.
    """
    finished = lowering.finish(bindings.clone(scheduled.module))
    return sequence(naming(opened.module) + "".join(script) + finished)


def write_schedule(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of an .mlir file: the trace as comments, then the schedule."""
    steps = "".join(f"// {entry}\n" for entry in session.trace)
    return (steps + cast(str, session.observe("schedule"))).encode()


def describe(program: Program, session: Session, result: Result) -> str:
    """Return the speed of a schedule and of the baselines, in GFLOP/s."""
    work = flops(program.content.decode())
    rates = {"burnish": result.cost, **result.baselines}
    return "GFLOP/s: " + ", ".join(f"{name} {work / seconds / GIGA:.3g}" for name, seconds in rates.items())
