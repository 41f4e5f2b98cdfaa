"""Sanitizers: is the program itself to blame, and does what the passes made touch memory that it must not?"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from burnish import _native
from burnish.core.errors import CompileError, InputError
from burnish.core.program import Workload
from burnish.core.worker import Limits
from burnish.evaluation.oracle import build_and_run
from burnish.execution import Execution, RunLimits, link, run_all
from burnish.execution.folder import temporary_folder
from burnish.toolchain import CXX_SUFFIXES, find_tool

SANITIZERS = ("address", "undefined")

_LIMITS = RunLimits(timeout_seconds=60.0, memory_bytes=None)
_ENVIRONMENT = ("ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=print_stacktrace=0")


def check_source(
    source: Path, arguments: Sequence[str], workload: Workload, sanitizers: Sequence[str]
) -> list[str]:
    """Compile a source file with sanitizers, run it on all inputs, and return what they report.

    What they find is in the program: where it has undefined behaviour, any output is right.

    Raises:
        CompileError: clang or the linker rejects it.
    """
    driver = find_tool("clang++" if source.suffix in CXX_SUFFIXES else "clang")
    command = [str(driver), *arguments, "-O1", "-g", "-w", f"-fsanitize={','.join(sanitizers)}"]
    command += ["-fno-sanitize-recover=all", "-c", str(source), "-o", "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise CompileError(f"{source}: clang failed\n{done.stderr.decode(errors='replace').strip()}")
    with temporary_folder() as folder:
        executable = link(done.stdout, workload, folder / "program", sanitizers=sanitizers)
        return _reports(workload, run_all(executable, workload, environment=_ENVIRONMENT, limits=_LIMITS))


def check_module(bitcode: bytes, workload: Workload, limits: Limits) -> list[str]:
    """Add AddressSanitizer to an optimized module, run it on all inputs, and return what it reports.

    Raises:
        CompileError, CompilerTimeout: it cannot be built.
    """
    seen = build_and_run(
        _marked(bitcode),
        "O0",  # of clang's: ASan's pass runs, and none that optimizes
        workload,
        limits,
        _LIMITS,
        options=("-fsanitize=address",),
        sanitizers=("address",),
        environment=_ENVIRONMENT,
    )
    return _reports(workload, seen)


def _marked(bitcode: bytes) -> bytes:
    """Mark functions as clang's front end does for ASan; those that passes made without attributes stay."""
    text = _native.Module(bitcode).print()
    groups = set(re.findall(r"^define .* #(\d+)", text, flags=re.MULTILINE))
    for number in groups:
        text = text.replace(f"\nattributes #{number} = {{ ", f"\nattributes #{number} = {{ sanitize_address ")
    return text.encode()


def parse_sanitizers(text: str) -> tuple[str, ...]:
    """Read a list such as "address,undefined".

    Raises:
        InputError: one of them is not known.
    """
    names = tuple(dict.fromkeys(name for name in text.split(",") if name))
    for name in names:
        if name not in SANITIZERS:
            raise InputError(f"no sanitizer named {name!r}; known: {', '.join(SANITIZERS)}")
    return names


def _reports(workload: Workload, seen: Sequence[Execution]) -> list[str]:
    found = []
    for run, execution in zip(workload.runs, seen, strict=True):
        lines = execution.errors.decode(errors="replace").splitlines()
        told = [line for line in lines if "ERROR: AddressSanitizer" in line or "runtime error:" in line]
        if told:
            found.append(f"input {run.name!r}: {told[0].strip()}")
    return found
