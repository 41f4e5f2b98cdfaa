"""Measure the runnable programs: instructions, `.text` bytes and run time at -O0, -Oz and -O3.

    python benchmarks/kernels.py [--workloads] [--names fft,json] [--sizes small,medium,large] [--repeats 5]
    python benchmarks/kernels.py --write-expected [--workloads] [--names fft,json]

Run times are the least of the repeats, in milliseconds, and include starting the process. --workloads
measures real programs in place of the kernels. --write-expected builds every program with two compilers, runs
both at every size and writes their common output to expected.toml beside the sources; it stops if the outputs
differ. The two are `clang -O0` and `gcc -O2` (if gcc is installed) for kernels, `clang -O0` and `clang -O3`
for workloads.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from burnish import _native
from burnish.core.errors import BurnishError
from burnish.core.program import Program, Run
from burnish.files import write_atomically
from burnish.llvm.corpora import kernels, workloads
from burnish.llvm.run import RunLimits, execute, link
from burnish.llvm.toolchain import find_tool

LEVELS = ("O0", "Oz", "O3")
LIMITS = RunLimits(timeout_seconds=300)
HEADER = "# What the programs print, by size. Written by: python benchmarks/kernels.py --write-expected{}\n"


@dataclass(frozen=True)
class Row:
    """The figures of one program at the three levels."""

    name: str
    instructions: dict[str, int]
    text_bytes: dict[str, int]
    milliseconds: dict[tuple[str, str], float]  # by size and level


def measure(program: Program, repeats: int, scratch: Path) -> Row:
    """Build a program at each level, run it on each of its inputs, and return the figures.

    Raises:
        SystemExit: a run fails, or its output differs from the expected one.
    """
    instructions, text_bytes, milliseconds = {}, {}, {}
    assert program.workload is not None
    for level in LEVELS:
        made, instructions[level] = build(program, level)
        text_bytes[level] = _native.object_sizes(made).text_bytes
        executable = link(made, program.workload, scratch / "program")
        for run in program.workload.runs:
            times = [run_once(program, executable, run)[1] for _ in range(repeats)]
            milliseconds[run.name, level] = min(times)
    return Row(program.name, instructions, text_bytes, milliseconds)


def build(program: Program, level: str) -> tuple[bytes, int]:
    """Return a program's object after clang's own pipeline of a level, and the number of IR instructions."""
    module = _native.Module(program.content, program.name)
    module.honour_mandatory()
    if level != "O0":
        module.set_level_attributes(level)
        module.run(f"clang<{level}>", level)
    return module.emit_object(level), module.instruction_count()


def run_once(program: Program, executable: Path, run: Run) -> tuple[str, float]:
    """Execute a run; return its output and its time in milliseconds.

    Raises:
        SystemExit: the run fails, or its output differs from the expected one.
    """
    assert program.workload is not None
    done = execute(executable, run, files=program.workload.files, limits=LIMITS)
    if done.killed or done.status or (run.expected is not None and done.output != run.expected):
        sys.exit(f"{program.name} {run.name}: {done.ending}; {done.errors.decode(errors='replace')}")
    return done.output.decode(), 1000 * done.wall_seconds


def table_of(rows: Sequence[Row], sizes: Sequence[str]) -> Table:
    """Return the printed table."""
    table = Table(title="instructions, .text bytes, ms", title_justify="left")
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


def kernel_executables(name: str, folder: Path) -> Iterator[Path]:
    """Yield a kernel built by clang -O0 and, if installed, by gcc -O2."""
    compilers = [[str(find_tool("clang")), "-O0"]]
    if gcc := shutil.which("gcc"):
        compilers.append([gcc, "-O2"])
    for compiler in compilers:
        source, program = str(kernels.find_kernel(name).source), str(folder / "program")
        command = [*compiler, *kernels.FLAGS, source, "-o", program, *kernels.LINK_ARGUMENTS]
        subprocess.run(command, check=True)
        yield folder / "program"


def workload_executables(name: str, folder: Path) -> Iterator[Path]:
    """Yield a workload built by clang -O0 and by clang -O3."""
    program = workloads.load_workload(name)
    assert program.workload is not None
    for level in ("O0", "O3"):
        yield link(build(program, level)[0], program.workload, folder / "program")


def write_expected(
    names: Sequence[str],
    load: Callable[..., Program],
    executables: Callable[[str, Path], Iterator[Path]],
    destination: Path,
    known: Mapping[str, Mapping[str, str]],
    header: str,
) -> None:
    """Write the outputs of the named programs; other programs keep their known outputs.

    Raises:
        SystemExit: a program fails, or its outputs differ between two compilers.
    """
    outputs = dict(known)
    with tempfile.TemporaryDirectory() as scratch:
        for name in track(names, description="programs"):
            program = load(name, sizes=None)
            made: dict[str, str] = {}
            runs = program.workload.runs if program.workload else ()
            for executable in executables(name, Path(scratch)):
                for run in runs:
                    text, _ = run_once(program, executable, replace(run, expected=None))
                    if made.setdefault(run.name, text) != text:
                        sys.exit(f"{name} {run.name}: another compiler makes it print\n{text}")
            outputs[name] = made
    lines = [header]
    for name, texts in sorted(outputs.items()):
        lines.append(f"[{name}]")
        lines += [f"{size} = {quoted(text)}" for size, text in texts.items()] + [""]
    write_atomically(destination, "\n".join(lines).encode())


def quoted(text: str) -> str:
    """Return a text as a multi-line TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"""', '""\\"')
    return f'"""\n{escaped}"""'


def main() -> int:
    """Run the command line."""
    options = _parser().parse_args()
    load: Callable[..., Program]
    if options.workloads:
        known, load, executables = workloads.workload_names(), workloads.load_workload, workload_executables
        folder = workloads.FOLDER
    else:
        known, load, executables = kernels.kernel_names(), kernels.load_kernel, kernel_executables
        folder = kernels.FOLDER
    names = options.names.split(",") if options.names else list(known)
    destination = folder / "expected.toml"
    if options.write_expected:
        header = HEADER.format(" --workloads" if options.workloads else "")
        old = {name: texts for name, texts in tomllib.loads(destination.read_text()).items() if name in known}
        write_expected(names, load, executables, destination, old, header)
        return 0
    sizes = options.sizes.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        rows = [
            measure(load(name, sizes=sizes), options.repeats, Path(scratch))
            for name in track(names, description="programs")
        ]
    Console(width=None if sys.stdout.isatty() else 200).print(table_of(rows, sizes))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="measure the runnable programs")
    parser.add_argument("--workloads", action="store_true", help="real programs in place of the kernels")
    parser.add_argument("--names", help="of programs, by commas (default: all)")
    parser.add_argument("--sizes", default="small,medium,large", help="by commas (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write-expected", action="store_true")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BurnishError as error:
        sys.exit(str(error))
