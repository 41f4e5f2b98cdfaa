"""Schedules for C programs: an object file or a shared object, and its header."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from burnish.core.errors import CompileError, InputError
from burnish.core.session import Session
from burnish.tasks.loop_nests.c_interface import C_TYPES, C_WORDS
from burnish.tasks.loop_nests.kernel import host
from burnish.tasks.mlir_schedules.payload import Payload
from burnish.tasks.mlir_schedules.reference.evaluate import TensorType

if TYPE_CHECKING:
    from burnish.tasks.mlir_schedules.session import ScheduleSession

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
PACKED = "_mlir_"  # what the engine calls a function that takes one array of pointers, beside the function
LIBRARIES = ("-Wl,--as-needed", "-lm")


def emit_object(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return a file that ends in .o: a C function that is called after the program."""
    return session.object_code()


def emit_shared_object(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return a file that ends in .so: the same function, linked."""
    return link_shared(session.object_code())


def emit_header(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return a file that ends in .h: its declaration."""
    text = session.observe("c_header")
    assert isinstance(text, str)
    return text.encode()


def link_shared(code: bytes) -> bytes:
    """Return the shared object of an object file.

    Raises:
        CompileError: it cannot be linked; the message is what the linker said.
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


def header(session: ScheduleSession) -> str:
    """Return the C header of a session's object file."""
    return write_header(session.payload, function_name(session.program.name))


def write_header(payload: Payload, name: str) -> str:
    """Return the header that declares the function of an object file.

    Raises:
        InputError: the name is none in C.
    """
    check_name(name)
    macro = name.upper()
    parameters = list(_parameters(payload))
    arrays = "\n".join(
        f" *   {declared}{''.join(f'[{size}]' for size in one.shape) or '[1]'}"
        for declared, one in parameters
    )
    declared = ", ".join(_pointer(text) for text, _ in parameters)
    return f"""\
/* Made by burnish for {host().cpu}.
 *
 * Arrays are dense, in C order:
{arrays}
 * Outputs share no memory with other arguments; their previous values are ignored. Inputs at multiples of
 * 64 bytes are read faster. Calls with other outputs may run on other threads.
 */
#ifndef {macro}_H
#define {macro}_H

#ifdef __cplusplus
extern "C" {{
#endif

void {name}({declared});

#ifdef __cplusplus
}}
#endif

#endif
"""


def check_name(name: str) -> None:
    """Check that C takes a name for a function.

    Raises:
        InputError: it does not.
    """
    if not NAME.fullmatch(name) or name in C_WORDS:
        raise InputError(f"{name!r} is not a name of a C function; expected one such as 'matmul_128'")


def function_name(program: str) -> str:
    """Return what the function of a program is called: after its file or its name."""
    words = "_".join(re.findall("[A-Za-z0-9]+", PurePath(program).stem))
    return words if NAME.fullmatch(words) and words not in C_WORDS else f"mlir_{words}"


def _parameters(payload: Payload) -> Iterator[tuple[str, TensorType]]:
    """Yield each argument as it is declared, without its extents."""
    for number, one in enumerate(payload.inputs):
        yield f"const {C_TYPES[one.dtype]} input{number}", one
    for number, one in enumerate(payload.outputs):
        yield f"{C_TYPES[one.dtype]} output{number}", one


def _pointer(declared: str) -> str:
    kind, _, name = declared.rpartition(" ")
    return f"{kind} *{name}"
