"""Linking of an object file to an executable."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Sequence
from pathlib import Path

from burnish.core.errors import CompileError, CompilerTimeout, InputError
from burnish.core.program import Workload
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.toolchain import find_tool

ELF = b"\x7fELF"  # first bytes of an ELF file


def link(
    object_bytes: bytes,
    workload: Workload,
    destination: Path,
    *,
    sanitizers: Sequence[str] = (),
    timeout_seconds: float = 60.0,
) -> Path:
    """Link a program's object with the rest of the program, and return `destination`.

    For C++, the workload's `link_arguments` contain `--driver-mode=g++`. `sanitizers` are those whose
    run-time libraries to link: "address", "undefined". A program for another machine is linked by its own
    linker (burnish.llvm.run.emulated).

    Raises:
        CompileError: the linker rejects the object; the message is the linker's output.
        InputError: the object is for another system, or sanitizers are asked for on another machine.
        CompilerTimeout: the linker does not end before the deadline.
    """
    if workload.linker and sanitizers:
        raise InputError("sanitizers are for programs of this machine")
    if not workload.linker and not object_bytes.startswith(ELF):
        raise InputError(
            "the program is made for another system and cannot be run here (its object is not an ELF file); "
            "choose an objective of size, such as loaded-bytes"
        )
    with temporary_folder() as folder:
        names = [f"{number}.o" for number in range(1 + len(workload.objects))]
        for name, content in zip(names, (object_bytes, *workload.objects), strict=True):
            (folder / name).write_bytes(content)
        command = [*(workload.linker or [str(find_tool("clang"))]), *names, "-o", str(destination.absolute())]
        command += [f"-fsanitize={','.join(sanitizers)}"] if sanitizers else []
        command += [] if workload.linker else [f"-Wl,-rpath,{_library_folder()}"]
        command += workload.link_arguments
        report = _run(command, folder, timeout_seconds)
        if "recompile with -fPIC" in report:  # the object's code is not position independent
            report = _run([*command, "-no-pie"], folder, timeout_seconds)
    if report:
        raise CompileError(f"linking failed: {' '.join(command[1:])}\n{report}")
    return destination


def _run(command: Sequence[str], folder: Path, timeout_seconds: float) -> str:
    """Run the linker; return its error message, or "" if it succeeds."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,  # so that messages name the objects without the temporary folder
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=timeout_seconds,
        )
    except subprocess.TimeoutExpired:
        raise CompilerTimeout(f"linking took more than {timeout_seconds:g} seconds") from None
    if not done.returncode:
        return ""
    return done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"


@functools.cache
def _library_folder() -> Path:
    """Return the folder of clang's own libc++ and libunwind, which the system's loader does not search."""
    command = [str(find_tool("clang")), "-print-file-name=libunwind.so.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()).resolve().parent
