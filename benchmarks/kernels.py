"""Measure the runnable programs: instructions, `.text` bytes and run time at -O0, -Oz and -O3.

    python benchmarks/kernels.py [--names fft,json] [--sizes small,medium,large] [--repeats 5] [--workloads]
    python benchmarks/kernels.py --write-expected

Run times are the least of the repeats, in user milliseconds, as the kernel counts them for the child.
--write-expected runs every kernel at every size as `clang -O0` and, where there is a gcc, as `gcc -O2` build
it, and writes what both print to src/burnish/corpora/kernels/expected.toml, or nothing where they differ.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from burnish import _native
from burnish.core.program import Program, Run
from burnish.corpora.kernels import FLAGS, FOLDER, LINK_ARGUMENTS, Kernel, kernel_names, kernels, load_kernel
from burnish.files import write_atomically
from burnish.toolchain import find_tool

LEVELS = ("O0", "Oz", "O3")
HEADER = "# What the kernels print, by size. Written by: python benchmarks/kernels.py --write-expected\n"


@dataclass(frozen=True)
class Row:
    """One program as the three levels make it."""

    name: str
    instructions: dict[str, int]
    text_bytes: dict[str, int]
    milliseconds: dict[tuple[str, str], float]  # by size and level


def measure(program: Program, repeats: int, scratch: Path) -> Row:
    """Build a program at each level, run it on each of its inputs, and return the figures.

    Raises:
        SystemExit: it fails, or prints something else than expected.
    """
    instructions, text_bytes, milliseconds = {}, {}, {}
    for level in LEVELS:
        module = _native.Module(program.content, program.name)
        module.honour_mandatory()
        if level != "O0":
            module.set_level_attributes(level)
            module.run(f"clang<{level}>", level)
        made = module.emit_object(level)
        instructions[level] = module.instruction_count()
        text_bytes[level] = _native.object_sizes(made).text_bytes
        executable = link(program, made, scratch)
        for run in program.workload.runs if program.workload else ():
            milliseconds[run.name, level] = min(user_ms(executable, run, scratch) for _ in range(repeats))
    return Row(program.name, instructions, text_bytes, milliseconds)


def link(program: Program, made: bytes, folder: Path) -> Path:
    """Write the executable of an object and its workload into a folder, with the files that it reads."""
    assert program.workload is not None
    objects = []
    for number, content in enumerate((made, *program.workload.objects)):
        objects.append(folder / f"{number}.o")
        objects[-1].write_bytes(content)
    for name, content in program.workload.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    executable = folder / "program"
    command = [str(find_tool("clang")), *map(str, objects), "-o", str(executable)]
    subprocess.run([*command, *program.workload.link_arguments], check=True)
    return executable


def user_ms(executable: Path, run: Run, folder: Path) -> float:
    """Execute a run and return its time in user space, in milliseconds."""
    with (folder / "stdin").open("w+b") as stdin, (folder / "stdout").open("w+b") as stdout:
        stdin.write(run.stdin)
        stdin.seek(0)
        child = subprocess.Popen([executable, *run.arguments], stdin=stdin, stdout=stdout, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        if child.returncode or (run.expected is not None and stdout.read() != run.expected):
            sys.exit(f"{executable} {' '.join(run.arguments)}: wrong output, exit code {child.returncode}")
    return usage.ru_utime * 1000


def table_of(rows: Sequence[Row], sizes: Sequence[str]) -> Table:
    """Return the table that is printed."""
    table = Table(title="instructions, .text bytes, user ms", title_justify="left")
    table.add_column("program")
    for kind in ("IR", ".text"):
        for level in LEVELS:
            table.add_column(f"{kind} -{level}", justify="right")
    for size in sizes:
        for level in LEVELS:
            table.add_column(f"{size} -{level}", justify="right")
    for row in rows:
        times = [row.milliseconds.get((size, level)) for size in sizes for level in LEVELS]
        table.add_row(
            row.name.partition(":")[2],
            *(f"{row.instructions[level]:,}" for level in LEVELS),
            *(f"{row.text_bytes[level]:,}" for level in LEVELS),
            *("" if time is None else f"{time:.1f}" for time in times),
        )
    return table


def expected_outputs(kernel: Kernel, folder: Path) -> dict[str, str]:
    """Return what a kernel prints, by size.

    Raises:
        SystemExit: two compilers make programs that print different texts.
    """
    outputs: dict[str, str] = {}
    for compiler in compilers():
        program = folder / "program"
        subprocess.run([*compiler, *FLAGS, kernel.source, "-o", program, *LINK_ARGUMENTS], check=True)
        for run in kernel.runs:
            done = subprocess.run([program, *run.arguments], capture_output=True, text=True, check=True)
            if outputs.setdefault(run.name, done.stdout) != done.stdout:
                sys.exit(f"{kernel.name} {run.name}: {' '.join(compiler)} makes it print\n{done.stdout}")
    return outputs


def compilers() -> Iterator[list[str]]:
    """Yield clang -O0 and, where it is installed, gcc -O2."""
    yield [str(find_tool("clang")), "-O0"]
    if gcc := shutil.which("gcc"):
        yield [gcc, "-O2"]


def write_expected(names: Sequence[str]) -> None:
    """Write expected.toml anew; kernels that are not named keep what they have."""
    lines = [HEADER]
    with tempfile.TemporaryDirectory() as scratch:
        for kernel in track(kernels(), description="kernels"):
            if kernel.name in names:
                outputs = expected_outputs(kernel, Path(scratch))
            else:
                outputs = {run.name: run.expected.decode() for run in kernel.runs if run.expected is not None}
            lines.append(f"[{kernel.name}]")
            lines += [f'{size} = """\n{text}"""' for size, text in outputs.items()] + [""]
    write_atomically(FOLDER / "expected.toml", "\n".join(lines).encode())


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="measure the runnable programs")
    parser.add_argument("--names", help="kernels, by commas (default: all)")
    parser.add_argument("--sizes", default="small,medium,large", help="by commas (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write-expected", action="store_true")
    options = parser.parse_args()
    names = options.names.split(",") if options.names else list(kernel_names())
    if options.write_expected:
        write_expected(names)
        return 0
    sizes = options.sizes.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        rows = [
            measure(load_kernel(name, sizes), options.repeats, Path(scratch))
            for name in track(names, description="programs")
        ]
    Console(width=None if sys.stdout.isatty() else 200).print(table_of(rows, sizes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
