"""Programs for other machines: the linker and the emulator for clang's options."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import InputError, MissingTool
from burnish.llvm.targets import machine_of
from burnish.llvm.toolchain import find_tool, is_native, target_of

# Options of clang that GNU compilers have, too, and that choose their libraries.
_OF_MACHINE = ("-mcpu=", "-march=", "-mabi=", "-mfloat-abi=", "-mfpu=", "-mthumb", "-marm")
PICOLIBC = ("--specs=picolibc.specs", "--crt0=semihost", "--oslib=semihost", "-Wl,--gc-sections")


@dataclass(frozen=True)
class Emulated:
    """The linker and the emulator for a machine."""

    linker: tuple[str, ...]  # a command; the objects and the output follow
    emulator: tuple[str, ...]  # a command; the program and its arguments follow


@dataclass(frozen=True)
class _Linux:
    """A Linux of another machine, as Debian has it."""

    compiler: str
    emulator: str


_LINUX = {
    "ARM": _Linux("arm-linux-gnueabihf-gcc", "qemu-arm"),
    "AArch64": _Linux("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "RISCV": _Linux("riscv64-linux-gnu-gcc", "qemu-riscv64"),
}


@dataclass(frozen=True)
class Board:
    """A machine without an operating system that QEMU emulates, and where its memories begin."""

    compiler: str
    qemu: tuple[str, ...]
    package: str  # of QEMU
    flash: int
    ram: int

    @property
    def memories(self) -> str:
        """The option that tells picolibc's linker script the memories."""
        sizes = {"__flash_size": "0x400000", "__ram_size": "0x400000", "__stack_size": "0x40000"}
        places = {"__flash": hex(self.flash), "__ram": hex(self.ram)}
        return ",".join(["-Wl", *(f"--defsym={name}={value}" for name, value in (places | sizes).items())])


_CORTEX_M = Board(
    "arm-none-eabi-gcc", ("qemu-system-arm", "-M", "mps2-an386"), "qemu-system-arm", 0, 0x20000000
)
BOARDS = {
    "arm": _CORTEX_M,
    "riscv32": Board(
        "riscv64-unknown-elf-gcc",
        ("qemu-system-riscv32", "-M", "virt", "-bios", "none"),
        "qemu-system-misc",
        0x80000000,
        0x80400000,
    ),
    "riscv64": Board(
        "riscv64-unknown-elf-gcc",
        ("qemu-system-riscv64", "-M", "virt", "-bios", "none"),
        "qemu-system-misc",
        0x80000000,
        0x80400000,
    ),
}
WASI = "wasi"
OWN = (sys.executable, "-m", "burnish.llvm.run.emulate")
COUNT = "--count="  # a file, as a first word of OWN


def emulated(arguments: Sequence[str]) -> Emulated | None:
    """Return the linker and the emulator for programs of these options of clang; None for this machine.

    Linux programs are static, and run in QEMU's user mode. Programs without an operating system are linked
    with picolibc, and print by semihosting. WebAssembly's run in wasmtime, with WASI.

    Raises:
        InputError: burnish knows no emulator for the machine.
        MissingTool: the linker or the emulator is not installed.
    """
    triple = target_of(arguments)
    if not triple or is_native(triple):
        return None
    machine = machine_of(triple)
    if machine == "WebAssembly" and "wasi" in triple:
        if not importlib.util.find_spec("wasmtime"):
            raise MissingTool(f"programs for {triple} run in wasmtime; install it with: pip install wasmtime")
        roots = [word for word in arguments if word.startswith("--sysroot=")]
        return Emulated((str(find_tool("burnish-cc")), f"--target={triple}", *roots), (*OWN, WASI))
    flags = [word for word in arguments if word.startswith(_OF_MACHINE)]
    if "linux" in triple and machine in _LINUX:
        way = _LINUX[machine]
        package = f"gcc-{way.compiler.removesuffix('-gcc')}"
        linker = (_tool(way.compiler, package, triple), *flags, "-static")
        return Emulated(linker, (_tool(way.emulator, "qemu-user", triple),))
    name = "arm" if machine == "ARM" else triple.partition("-")[0]
    if "linux" in triple or name not in BOARDS:
        raise InputError(f"--run: burnish knows no emulator for {triple}")
    board = BOARDS[name]
    if triple.startswith("thumb"):
        flags.append("-mthumb")
    if machine == "RISCV" and not any(word.startswith("-mabi=") for word in flags):
        flags.append(f"-mabi={_abi(name, flags)}")
    _tool(board.qemu[0], board.package, triple)
    package = "gcc-" + board.compiler.removesuffix("-gcc")
    linker = (_tool(board.compiler, package, triple), *flags, *PICOLIBC, board.memories)
    return Emulated(linker, (*OWN, name))


def counting(emulator: Sequence[str], file: Path) -> tuple[str, ...]:
    """Return the command of an emulator that writes the number of executed instructions to a file."""
    if tuple(emulator[: len(OWN)]) == OWN:
        return (*OWN, f"{COUNT}{file}", *emulator[len(OWN) :])
    return (*emulator, *plugin_words(str(file)))


def plugin_words(file: str) -> tuple[str, str]:
    """Return QEMU's option for the plugin that writes the number of executed instructions to a file."""
    native = importlib.util.find_spec("burnish._native")  # not imported: it takes longer to load than QEMU
    assert native and native.origin
    plugin = str(Path(native.origin).with_name("_count_plugin.so"))  # native/count_plugin
    plugin, file = (path.replace(",", ",,") for path in (plugin, file))  # as commas in QEMU's options
    return "-plugin", f"{plugin},count={file}"


def _abi(name: str, flags: Sequence[str]) -> str:
    """Return the ABI that clang takes for RISC-V without -mabi."""
    marches = [word.partition("=")[2] for word in flags if word.startswith("-march=")]
    letters = marches[-1].partition("_")[0][4:] if marches else ""
    return ("ilp32" if name == "riscv32" else "lp64") + ("d" if {"d", "g"} & set(letters) else "")


def _tool(name: str, package: str, triple: str) -> str:
    if found := shutil.which(name):
        return found
    raise MissingTool(f"programs for {triple} need {name}; install it with: apt-get install {package}")
