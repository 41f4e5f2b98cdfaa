"""Random programs of generators that the user has: Csmith (C) and llvm-stress (LLVM IR)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from burnish.core.errors import InputError, MissingTool
from burnish.core.program import Program, Run, Workload
from burnish.llvm.toolchain import compile_to_bitcode

LARGEST_SEED = 2**32 - 1  # of both generators
STRESS_SIZE = 100  # llvm-stress' own default, instructions of its function
TIMEOUT_SECONDS = 60.0  # Csmith takes 0.05 to 2
FLAGS = ("-w", "-fno-ident")


def csmith_program(seed: int, *, level: str = "Oz") -> Program:
    """Return Csmith's program of a seed, which prints a checksum; one version of Csmith gives one program.

    Raises:
        MissingTool: Csmith or its headers are not installed.
        InputError: Csmith does not take the seed.
        CompileError: clang rejects the program.
    """
    tool = _installed("csmith", "csmith")
    include = _csmith_headers(Path(tool))
    name = f"csmith:{seed}"
    with tempfile.TemporaryDirectory() as folder:
        text = _output(name, [tool, "--seed", str(_checked(name, seed))], folder)
        (Path(folder) / "program.c").write_bytes(text)
        flags = (*FLAGS, f"-I{include}")
        bitcode = compile_to_bitcode(Path("program.c"), flags, level=level, directory=Path(folder))
    return Program(name, "llvm", bitcode, Workload((Run("checksum"),)))


def stress_program(seed: int, size: int = STRESS_SIZE) -> Program:
    """Return the module of a seed by llvm-stress, which cannot be run; each version has other modules.

    Raises:
        MissingTool: llvm-stress is not installed.
        InputError: llvm-stress does not take the seed, or this version of LLVM cannot read its module.
    """
    from burnish import _native

    name = f"llvm-stress:{seed}" + (f":{size}" if size != STRESS_SIZE else "")
    tool = _installed("llvm-stress", "llvm")
    command = [tool, f"-seed={_checked(name, seed)}", f"-size={size}"]
    text = _output(name, [*command, "-o", "-"], None)
    try:
        return Program(name, "llvm", _native.Module(text, "llvm-stress").bitcode())
    except _native.InputError as error:
        raise InputError(
            f"{name}: LLVM {_native.llvm_version()} cannot read the module of {tool} ({error}); "
            "put an llvm-stress of a nearer version of LLVM first on PATH"
        ) from None


def _installed(tool: str, debian_package: str) -> str:
    if found := shutil.which(tool):
        return found
    raise MissingTool(f"{tool} is not on PATH; install it, on Debian with: apt-get install {debian_package}")


def _csmith_headers(tool: Path) -> Path:
    """Return the folder of csmith.h, which belongs to the installed Csmith."""
    root = tool.resolve().parent.parent / "include"
    folders = (root, root / "csmith", *sorted(root.glob("csmith-*")))
    for folder in folders:
        if (folder / "csmith.h").is_file():
            return folder
    raise MissingTool(
        f"csmith.h is not in {root}; install the headers, on Debian with: apt-get install libcsmith-dev"
    )


def _checked(name: str, seed: int) -> int:
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"{name}: expected a seed from 0 to {LARGEST_SEED}")
    return seed


def _output(name: str, command: list[str], folder: str | None) -> bytes:
    """Return the standard output of a generator."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{name}: {command[0]} took more than {TIMEOUT_SECONDS:g} s; try another seed"
        ) from None
    if done.returncode or not done.stdout:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(
            f"{name}: {command[0]} failed: {told[-1] if told else f'exit code {done.returncode}'}"
        )
    return done.stdout
