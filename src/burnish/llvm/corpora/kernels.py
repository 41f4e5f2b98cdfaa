"""The runnable suite: small programs of our own that check their own results, each at several input sizes."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import UnknownName
from burnish.core.program import Program, Run, Workload
from burnish.llvm.corpora.sizes import choose_runs, read_runs, split_sizes
from burnish.llvm.toolchain import compile_to_bitcode

FOLDER = Path(__file__).with_name("kernels")
# Without contraction every compiler prints the same: a fused multiply and add rounds once instead of twice.
FLAGS = ("-std=c17", "-ffp-contract=off", "-fno-ident")
LINK_ARGUMENTS = ("-lm",)
DEFAULT_SIZES = ("small",)
PREFIX = "kernels:"  # of their names


@dataclass(frozen=True)
class Kernel:
    """One program of the suite: a C file, what it does, and the inputs that it is run on."""

    name: str
    area: str  # "sorting", "graphs", ...
    description: str
    runs: tuple[Run, ...]  # by size: at -O3 some milliseconds, about 0.06 s and 0.6 s

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
        Kernel(name, row["area"], row["description"], read_runs(row["sizes"], outputs.get(name, {})))
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
    name, sizes = split_sizes(name, sizes)
    runs = choose_runs(name, find_kernel(name).runs, sizes)
    return Program(
        f"{PREFIX}{name}", "llvm", _bitcode(name, level), Workload(runs, link_arguments=LINK_ARGUMENTS)
    )


@functools.cache
def _bitcode(name: str, level: str) -> bytes:
    # compiled in its folder, so that the module does not name where burnish is installed
    return compile_to_bitcode(Path(f"{name}.c"), FLAGS, level=level, directory=FOLDER)
