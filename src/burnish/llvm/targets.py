"""The machines that burnish makes code for, and what programs for them need beside it.

The front end and all back ends come with burnish. C libraries, linkers and emulators are packages of the
system or of Python.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import MissingTool
from burnish.llvm.toolchain import find_tool


def command(name: str) -> Callable[[], bool]:
    """Return whether a command is in the PATH or comes with a package of Python, as a function."""

    def found() -> bool:
        try:
            return bool(find_tool(name))
        except MissingTool:
            return False

    return found


def file(path: str) -> Callable[[], bool]:
    """Return whether a file or folder is there, as a function."""
    return Path(path).exists


def module(name: str) -> Callable[[], bool]:
    """Return whether a module of Python is there, as a function."""
    return lambda: importlib.util.find_spec(name) is not None


@dataclass(frozen=True)
class Need:
    """Something that programs for a target need."""

    what: str  # such as "C library"
    found: Callable[[], bool]
    package: str  # that brings it; "pip:NAME" for one of Python

    @property
    def install(self) -> str:
        """Return the command that installs the package."""
        kind, _, name = self.package.rpartition(":")
        return f"pip install {name}" if kind == "pip" else f"apt-get install {name}"


@dataclass(frozen=True)
class Target:
    """A machine, as users name it to clang."""

    name: str  # LLVM's name of the back end
    description: str
    flags: tuple[str, ...]  # of clang, for one such machine
    needs: tuple[Need, ...] = ()


TARGETS = (
    Target(
        "X86",
        "x86-64 and x86",
        ("--target=x86_64-linux-gnu",),
        (Need("C library", file("/usr/include/stdio.h"), "libc6-dev"),),
    ),
    Target(
        "ARM",
        "Cortex-M, Cortex-R and 32-bit Cortex-A: Thumb-1, Thumb-2 and ARM",
        ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"),
        (
            Need("GNU driver, libgcc", command("arm-none-eabi-gcc"), "gcc-arm-none-eabi"),
            Need("C library", file("/usr/lib/picolibc/arm-none-eabi"), "picolibc-arm-none-eabi"),
            Need("emulator", command("qemu-system-arm"), "qemu-system-arm"),
        ),
    ),
    Target(
        "AArch64",
        "64-bit ARM",
        ("--target=aarch64-linux-gnu",),
        (
            Need("GNU driver, libgcc", command("aarch64-linux-gnu-gcc"), "gcc-aarch64-linux-gnu"),
            Need("C library", file("/usr/aarch64-linux-gnu/include/stdio.h"), "libc6-dev-arm64-cross"),
            Need("emulator", command("qemu-aarch64"), "qemu-user"),
        ),
    ),
    Target(
        "RISCV",
        "RISC-V, 32 and 64 bits, with extensions",
        ("--target=riscv32-unknown-elf", "-march=rv32imc"),
        (
            Need("GNU driver, libgcc", command("riscv64-unknown-elf-gcc"), "gcc-riscv64-unknown-elf"),
            Need("C library", file("/usr/lib/picolibc/riscv64-unknown-elf"), "picolibc-riscv64-unknown-elf"),
            Need("emulator", command("qemu-system-riscv32"), "qemu-system-misc"),
        ),
    ),
    Target(
        "WebAssembly",
        "WebAssembly, 32 and 64 bits",
        ("--target=wasm32-wasi",),
        (
            Need("C library", file("/usr/include/wasm32-wasi/stdio.h"), "wasi-libc"),
            Need("runtime", module("wasmtime"), "pip:wasmtime"),
            Need("wasm-opt", command("wasm-opt"), "binaryen"),
        ),
    ),
)

MACHINES = tuple(target.name for target in TARGETS)
REGISTERS = frozenset(MACHINES) - {"WebAssembly"}  # machines whose code has registers
_BEGINNINGS = {  # of triples
    **dict.fromkeys(("x86", "amd64", "i386", "i486", "i586", "i686"), "X86"),
    **dict.fromkeys(("aarch64", "arm64"), "AArch64"),
    **dict.fromkeys(("arm", "thumb"), "ARM"),
    "riscv": "RISCV",
    "wasm": "WebAssembly",
}


def machine_of(triple: str) -> str:
    """Return the name of a triple's machine: "ARM" for thumbv7em-none-eabi; "" if it is another one."""
    return next((name for start, name in _BEGINNINGS.items() if triple.startswith(start)), "")
