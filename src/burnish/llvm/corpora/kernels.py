"""The runnable suite: burnish's own small programs that check their results, each at several input sizes."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program, Run, Workload
from burnish.llvm.toolchain import compile_to_bitcode

FOLDER = Path(__file__).with_name("kernels")
# No contraction: a fused multiply-add rounds once instead of twice, so outputs would depend on the compiler.
FLAGS = ("-std=c17", "-ffp-contract=off", "-fno-ident")
LINK_ARGUMENTS = ("-lm",)
DEFAULT_SIZES = ("small",)
PREFIX = "kernels:"  # of the kernels' program names


@dataclass(frozen=True)
class Kernel:
    """One program of the suite: a C file, its description, and its inputs."""

    name: str
    area: str  # "sorting", "graphs", ...
    description: str
    runs: tuple[Run, ...]  # one for each size, smallest first: at -O3 some ms, about 0.06 s and 0.6 s

    @property
    def source(self) -> Path:
        """Return the C file."""
        return FOLDER / f"{self.name}.c"


@functools.cache
def kernels() -> tuple[Kernel, ...]:
    """Return every kernel, by name."""
    suite = read_suite(FOLDER / "kernels.toml", "sizes")
    return tuple(Kernel(name, row["area"], row["description"], runs) for name, row, runs in suite)


def kernel_names() -> tuple[str, ...]:
    """Return the names of all kernels, sorted."""
    return tuple(kernel.name for kernel in kernels())


def find_kernel(name: str) -> Kernel:
    """Return the kernel of that name."""
    known = {kernel.name: kernel for kernel in kernels()}
    if name not in known:
        raise UnknownName.among("kernel", name, known)
    return known[name]


def load_kernel(
    name: str, sizes: Sequence[str] | None = DEFAULT_SIZES, *, level: str = "Oz", march: str = ""
) -> Program:
    """Return a kernel as a program of the LLVM tasks, with its workload.

    Sizes in the name replace `sizes`: "fft@medium", "fft@small,large". None takes all. `march` is clang's
    -march, such as "native"; without it, any machine of the architecture runs the kernel.

    Raises:
        UnknownName: there is no such kernel, or the kernel has no such size.
        CompileError: clang rejects the file, for example because the C library's headers are missing.
    """
    name, at, chosen = name.partition("@")
    runs = choose_runs(name, find_kernel(name).runs, chosen.split(",") if at else sizes)
    return Program(
        f"{PREFIX}{name}", "llvm", _bitcode(name, level, march), Workload(runs, link_arguments=LINK_ARGUMENTS)
    )


@functools.cache
def _bitcode(name: str, level: str, march: str) -> bytes:
    # compile in the kernels' folder, so that the module does not contain the path of burnish's installation
    flags = (*FLAGS, f"-march={march}") if march else FLAGS
    return compile_to_bitcode(Path(f"{name}.c"), flags, level=level, directory=FOLDER)


def read_suite(table: Path, sizes: str) -> Iterator[tuple[str, dict[str, Any], tuple[Run, ...]]]:
    """Yield the name, the row and the runs of each program, by name; its outputs may be unknown.

    The column `sizes` has the arguments of each run, separated by spaces, smallest first.
    """
    rows = tomllib.loads(table.read_text(encoding="utf-8"))
    expected = tomllib.loads(table.with_name("expected.toml").read_text(encoding="utf-8"))
    for name, row in sorted(rows.items()):
        outputs = {size: text.encode() for size, text in expected.get(name, {}).items()}
        arguments = row[sizes].items()
        runs = (Run(size, tuple(text.split()), expected=outputs.get(size)) for size, text in arguments)
        yield name, row, tuple(runs)


def choose_runs(program: str, runs: Sequence[Run], sizes: Sequence[str] | None) -> tuple[Run, ...]:
    """Return the runs of the given sizes, smallest first; None takes all."""
    if sizes is None:
        return tuple(runs)
    known = [run.name for run in runs]
    if isinstance(sizes, str) or not sizes:
        raise InputError(
            f"{program}: sizes is {sizes!r}; expected a sequence of {', '.join(known)}, or None for all"
        )
    for size in sizes:
        if size not in known:
            raise UnknownName.among(f"size of {program!r}", size, known)
    return tuple(run for run in runs if run.name in sizes)
