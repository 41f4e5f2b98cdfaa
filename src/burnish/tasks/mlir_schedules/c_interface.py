"""Schedules for C programs: an object file or a shared object, and its header."""

from __future__ import annotations

import subprocess
import tempfile
from functools import partial
from pathlib import Path

from burnish.core.errors import CompileError
from burnish.core.session import Session
from burnish.tasks.mlir_schedules.payload import Payload
from burnish.tasks.tensors import c_interface
from burnish.tasks.tensors.c_interface import Argument, check_name
from burnish.tasks.tensors.machine import host

PACKED = "_mlir_"  # prefix of the second function that the engine adds; it takes an array of pointers
function_name = partial(c_interface.function_name, prefix="mlir")
LIBRARIES = ("-Wl,--as-needed", "-lm")


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
        command = [find_tool("clang"), "-shared", "-fuse-ld=lld", f"-Wl,--version-script={exported}"]
        words = [*map(str, command), "-Wl,-z,text", str(given), *LIBRARIES, "-o", str(made)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"the schedule's object file cannot be linked\n{done.stderr.strip()}")
        return made.read_bytes()


def write_header(payload: Payload, name: str) -> str:
    """Return the header that declares the function of an object file.

    Raises:
        InputError: the name is not valid in C.
    """
    check_name(name)
    types = [
        *((f"input{number}", one) for number, one in enumerate(payload.inputs)),
        *((f"output{number}", one) for number, one in enumerate(payload.outputs)),
    ]
    arguments = [Argument(label, one.dtype, one.shape, label.startswith("input")) for label, one in types]
    note = (
        "Inputs at multiples of\n64 bytes are read faster. Calls with other outputs may run on other threads."
    )
    return c_interface.write_header(name, host().cpu, arguments, note)
