"""The runnable suite: small programs of our own that check their own results, each at several input sizes."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program, Run, Workload
from burnish.toolchain import compile_to_bitcode

FOLDER = Path(__file__).with_name("kernels")
# Without contraction every compiler prints the same: a fused multiply and add rounds once instead of twice.
FLAGS = ("-std=c17", "-ffp-contract=off", "-fno-ident")
LINK_ARGUMENTS = ("-lm",)
DEFAULT_SIZES = ("small",)


@dataclass(frozen=True)
class Kernel:
    """One program of the suite: a C file, what it does, and the inputs that it is run on."""

    name: str
    area: str  # "sorting", "graphs", ...
    description: str
    runs: tuple[Run, ...]  # by size: at -O2 some milliseconds, about 0.1 s and 0.5 to 1 s

    @property
    def sizes(self) -> tuple[str, ...]:
        """Return the names of the input sizes, smallest first."""
        return tuple(run.name for run in self.runs)

    @property
    def source(self) -> Path:
        """Return the C file."""
        return FOLDER / f"{self.name}.c"


@functools.cache
def kernels() -> tuple[Kernel, ...]:
    """Return every kernel, by name."""
    rows = tomllib.loads((FOLDER / "kernels.toml").read_text(encoding="utf-8"))
    outputs = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))
    return tuple(
        Kernel(
            name,
            row["area"],
            row["description"],
            tuple(
                Run(size, tuple(arguments.split()), expected=_bytes(outputs.get(name, {}).get(size)))
                for size, arguments in row["sizes"].items()
            ),
        )
        for name, row in sorted(rows.items())
    )


def kernel_names() -> tuple[str, ...]:
    """Return the names of all kernels, sorted."""
    return tuple(kernel.name for kernel in kernels())


def find_kernel(name: str) -> Kernel:
    """Return the kernel of that name.

    Raises:
        UnknownName: there is none; the message suggests the nearest ones.
    """
    known = {kernel.name: kernel for kernel in kernels()}
    if name not in known:
        raise UnknownName.among("kernel", name, known)
    return known[name]


def load_kernel(name: str, sizes: Sequence[str] | None = DEFAULT_SIZES, *, level: str = "Oz") -> Program:
    """Return a kernel as a program of the LLVM tasks, with its workload.

    Args:
        name: Of a kernel, such as "fft"; sizes may follow, which then count: "fft@medium", "fft@small,large".
        sizes: Which inputs the program is run on; None takes all.
        level: What clang's front end is told.

    Raises:
        UnknownName: there is no such kernel, or it has no such size.
        CompileError: clang rejects it, say because the C library's headers are missing.
    """
    name, separator, suffix = name.partition("@")
    kernel = find_kernel(name)
    runs = _chosen(kernel, suffix.split(",") if separator else sizes)
    workload = Workload(runs, link_arguments=LINK_ARGUMENTS)
    return Program(f"kernels:{name}", "llvm", _bitcode(name, level), workload)


def _chosen(kernel: Kernel, sizes: Sequence[str] | None) -> tuple[Run, ...]:
    if sizes is None:
        return kernel.runs
    if isinstance(sizes, str) or not sizes:
        raise InputError(
            f"sizes is {sizes!r}; expected a sequence of {', '.join(kernel.sizes)}, or None for all"
        )
    for size in sizes:
        if size not in kernel.sizes:
            raise UnknownName.among(f"size of kernel {kernel.name!r}", size, kernel.sizes)
    return tuple(run for run in kernel.runs if run.name in sizes)


@functools.cache
def _bitcode(name: str, level: str) -> bytes:
    # compiled in its folder, so that the module does not name where burnish is installed
    return compile_to_bitcode(Path(f"{name}.c"), FLAGS, level=level, directory=FOLDER)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
