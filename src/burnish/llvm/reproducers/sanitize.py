"""Sanitizer checks: errors of the program's own source, and memory errors that passes introduce."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from burnish import _native
from burnish.core.errors import CompileError
from burnish.core.program import Program, Workload
from burnish.core.session import Session
from burnish.core.validator import Failure
from burnish.llvm.corpora.kernels import FLAGS, PREFIX, find_kernel
from burnish.llvm.reproducers.stock_tools import generate_code
from burnish.llvm.run import RunLimits, link, run_all
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES, cxx_library_options, find_tool

SANITIZERS = ("address", "undefined")
MEMORY = "AddressSanitizer finds a memory error"

_LIMITS = RunLimits(timeout_seconds=60.0, memory_bytes=None)
_ENVIRONMENT = ("ASAN_OPTIONS=detect_leaks=0", "UBSAN_OPTIONS=print_stacktrace=0")
_SOURCES = C_SUFFIXES | CXX_SUFFIXES


def check_program(
    program: Program, made_of: Sequence[str], sanitizers: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the errors that sanitizers find in the source itself, and notes on missing checks.

    If a program has undefined behaviour, any output is right. `made_of` are its files, and clang's options.
    """
    if not program.workload:
        return [], ["sanitizers did not run: the program has no workload"]
    file, *options = made_of or ("",)
    if program.name.startswith(PREFIX):
        kernel = find_kernel(program.name.removeprefix(PREFIX))
        file, options = str(kernel.source), list(FLAGS)
    if not _is_source(file) or any(map(_is_source, options)):
        return [], ["sanitizers did not check the source: they need a single C or C++ file"]
    names = " and ".join(sanitizers)
    found = check_source(Path(file), options, program.workload, sanitizers)
    return found, [] if found else [f"sanitizers ({names}) find nothing in the source"]


def check_state(
    program: Program, unoptimized: Session, optimized: Session, sanitizers: Sequence[str], seconds: float
) -> Failure | str:
    """Look for memory errors that passes introduced, with AddressSanitizer, the only one for modules.

    If the unoptimized program has errors, they are its own, and the result says so.

    Raises:
        CompileError, CompilerTimeout: a module cannot be built within `seconds`.
    """
    if "address" not in sanitizers or not program.workload:
        return ""
    if found := check_module(_bitcode(unoptimized), program.workload, seconds):
        return f"unoptimized, the program already has errors: {found[0]}"
    if found := check_module(_bitcode(optimized), program.workload, seconds):
        return Failure(MEMORY, "; ".join(found))
    return "AddressSanitizer finds nothing in the optimized program"


def check_source(
    source: Path, arguments: Sequence[str], workload: Workload, sanitizers: Sequence[str]
) -> list[str]:
    """Compile a source file with sanitizers, run it on all inputs, and return their reports."""
    cxx = source.suffix in CXX_SUFFIXES
    driver = find_tool("clang++" if cxx else "clang")
    library = cxx_library_options(("-c", *arguments)) if cxx else ()
    command = [str(driver), *library, *arguments, "-O1", "-g", "-w", f"-fsanitize={','.join(sanitizers)}"]
    command += ["-fno-sanitize-recover=all", "-c", str(source), "-o", "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise CompileError(f"{source}: clang failed\n{done.stderr.decode(errors='replace').strip()}")
    return _reports(done.stdout, workload, sanitizers)


def check_module(bitcode: bytes, workload: Workload, seconds: float) -> list[str]:
    """Add AddressSanitizer to an optimized module, run it on all inputs, and return the reports."""
    # clang's -O0 runs ASan's pass, but no optimizing pass
    code = generate_code(_marked(bitcode), "O0", seconds, ["-fsanitize=address"])
    return _reports(code, workload, ["address"])


def _bitcode(session: Session) -> bytes:
    content = session.observe("bitcode")
    assert isinstance(content, bytes)
    return content


def _marked(bitcode: bytes) -> bytes:
    """Mark functions as clang's front end does for ASan, except functions without attributes."""
    text = _native.Module(bitcode).print()
    groups = set(re.findall(r"^define .* #(\d+)", text, flags=re.MULTILINE))
    for number in groups:
        text = text.replace(f"\nattributes #{number} = {{ ", f"\nattributes #{number} = {{ sanitize_address ")
    return text.encode()


def _is_source(word: str) -> bool:
    return not word.startswith("-") and Path(word).suffix in _SOURCES


def _reports(code: bytes, workload: Workload, sanitizers: Sequence[str]) -> list[str]:
    """Link an object with sanitizers, run it on all inputs, and return their reports."""
    with temporary_folder() as folder:
        executable = link(code, workload, folder / "program", sanitizers=sanitizers)
        seen = run_all(executable, workload, environment=_ENVIRONMENT, limits=_LIMITS)
    found = []
    for run, execution in zip(workload.runs, seen, strict=True):
        lines = execution.errors.decode(errors="replace").splitlines()
        told = [line for line in lines if "ERROR: AddressSanitizer" in line or "runtime error:" in line]
        found += [f"input {run.name!r}: {line.strip()}" for line in told[:1]]
    return found
