"""Whole programs for microcontrollers: bytes loaded and instructions executed, by gcc, clang and burnish.

    python benchmarks/firmware_images.py [--budget 2s] [--program-budget 60s] [--machines cortex-m4 rv32imc]
                                         [--images PATTERN ...] [--jobs 2] [--sources FOLDER] [--out FOLDER]

The ways to build are gcc -Os, gcc -Os -flto, clang -Oz, clang -Oz -flto, `burnish cc` before gcc (--budget
for each file), and `burnish cc --whole-program` (--program-budget for the program). gcc links clang's
objects, too, with the same linker script and --gc-sections. lld does not take picolibc's script, so for clang
-flto the two pipelines run here, on each module and on a linked one in which only main is visible. The
programs run in QEMU, and print by semihosting; each output is compared with that of gcc -Os. A plugin of QEMU
counts instructions.

Packages of Debian: gcc-arm-none-eabi, gcc-riscv64-unknown-elf, picolibc-arm-none-eabi,
picolibc-riscv64-unknown-elf, qemu-system-arm, qemu-system-misc, and for AArch64 gcc-aarch64-linux-gnu and
qemu-user; sources by apt. --out, by default benchmarks/results/firmware_images, gets rows.jsonl, a row for
each image and machine, and table.txt.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from firmware import MACHINES, SECTIONS, clangs_module, clangs_object
from kit.kept import keep
from kit.libraries import library_options
from shipped.debian import fetch_archive, unpack

from burnish import _native
from burnish.cc.back_end import emit
from burnish.cc.commands.launch import find_launcher
from burnish.cc.linked import read_linked
from burnish.core.program import Run
from burnish.llvm.run.emulated import BOARDS, OWN
from burnish.llvm.run.running import INSTRUCTIONS, Execution, RunLimits, execute

IMAGES = Path(__file__).resolve().with_suffix(".toml")
PROGRAMS = IMAGES.parent / "firmware" / "images"
SEMIHOSTED = ("--crt0=semihost", "--oslib=semihost")
WAYS = ("gcc", "gcc -flto", "clang", "clang -flto", "burnish", "burnish whole")
DEADLINE_SECONDS = 900


EMULATORS = {
    "cortex-m4": (*OWN, "arm"),
    "cortex-m0plus": (*OWN, "arm"),
    "rv32imc": (*OWN, "riscv32"),
    "aarch64": (shutil.which("qemu-aarch64") or "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
}


def linker_script(machine: str) -> str:
    """Return picolibc's linker script with the memories of QEMU's board; "" for programs of Linux."""
    board = BOARDS.get(EMULATORS[machine][-1])
    if not board:
        return ""
    sizes = "__flash_size = 0x400000; __ram_size = 0x400000; __stack_size = 256k;"
    return f"__flash = {board.flash:#x}; __ram = {board.ram:#x}; {sizes}\nINCLUDE picolibc.ld\n"


@dataclass(frozen=True)
class Image:
    """A program and a machine: the sources, and how gcc is called."""

    name: str
    machine: str
    folder: Path  # of the library's sources
    files: tuple[str, ...]
    words: tuple[str, ...]  # the compiler and its options

    def compiled(self, made: Path, own: Sequence[str], more: Sequence[str], jobs: int) -> list[str]:
        """Compile all files by gcc, perhaps with a drop-in compiler before it; return the objects."""

        def one(file: str) -> str:
            target = made / f"{self.files.index(file)}-{Path(file).stem}.o"
            self.run([*own, *self.words, *more, "-c", file, "-o", str(target)])
            return str(target)

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, self.files))

    def linked(self, made: Path, own: Sequence[str], more: Sequence[str], objects: Sequence[str]) -> Path:
        """Link the objects by gcc; return the program."""
        program, libraries = made / "image.elf", ["-Wl,--gc-sections", "-lm"]
        if script := linker_script(self.machine):
            (made / "board.ld").write_text(script)
            libraries += [*SEMIHOSTED, "-T", str(made / "board.ld")]
        self.run([*own, *self.words, *more, *objects, *libraries, "-o", str(program)])
        return program

    def run(self, command: Sequence[str]) -> None:
        """Run a command in the folder of the sources."""
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)


def main() -> None:
    parser = library_options(__doc__, "firmware_images")
    parser.add_argument("--program-budget", default="60s", help="of burnish cc --whole-program")
    parser.add_argument("--machines", nargs="+", choices=EMULATORS, default=["cortex-m4", "rv32imc"])
    parser.add_argument("--images", nargs="+", default=["*"], metavar="PATTERN")
    options = parser.parse_args()
    keep(rows(options), options.out, table)


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each image and machine."""
    for one in tomllib.loads(IMAGES.read_text())["image"]:
        if any(fnmatch(one["name"], pattern) for pattern in options.images):
            for machine in options.machines:
                yield measured(image_of(one, machine, options.sources.absolute()), options)


def image_of(row: Mapping[str, Any], machine: str, sources: Path) -> Image:
    """Return an image of the list, with the sources of its library."""
    folder = sources / row["package"]
    if not folder.is_dir():
        unpack(fetch_archive(row["package"], sources), folder)
    paths = sorted({path for pattern in row["files"] for path in folder.glob(pattern)})
    files = [str(path.relative_to(folder)) for path in paths if path.name not in row.get("without", ())]
    flags = (flag.format(here=PROGRAMS) for flag in row.get("flags", ()))
    words = (*MACHINES[machine], *SECTIONS, *flags)
    return Image(row["name"], machine, folder, (*files, str(PROGRAMS / f"{row['name']}.c")), words)


def measured(image: Image, options: argparse.Namespace) -> dict[str, Any]:
    """Build an image in each way and run it; return its row.

    Raises:
        RuntimeError: an output differs from that of gcc -Os.
    """
    row: dict[str, Any] = {"machine": image.machine, "image": image.name, "files": len(image.files)}
    expected = b""
    for way in WAYS:
        with tempfile.TemporaryDirectory() as made:
            program = build(image, way, Path(made), options)
            linked = read_linked(program)
            ran = run(image.machine, program)
        executed = ran.counters.get(INSTRUCTIONS)
        row[way] = {"loaded": linked.loaded_bytes, "bss": linked.bss_bytes, "instructions": executed}
        print(f"{image.machine} {image.name} {way}: {row[way]}", file=sys.stderr, flush=True)
        expected = expected or ran.output
        if ran.output != expected or not executed:
            raise RuntimeError(f"{image.machine} {image.name} {way}: {ran}, not {expected!r}")
    return row


def build(image: Image, way: str, made: Path, options: argparse.Namespace) -> Path:
    """Build an image in one way; return the program."""
    cc = [find_launcher("burnish-cc"), "--remember=none", "--report", str(made / "log")]
    match way:
        case "gcc" | "gcc -flto":
            more = ["-flto"] if way == "gcc -flto" else []
            return image.linked(made, [], more, image.compiled(made, [], more, options.jobs))
        case "clang":
            objects = image.compiled(made, [], [], options.jobs)
            for file, target in zip(image.files, objects, strict=True):
                words = [*image.words[1:], "-c", file, "-o", target]
                if code := clangs_object(image.words[0], words, image.folder, made / "front.bc"):
                    Path(target).write_bytes(code)
            return image.linked(made, [], [], objects)
        case "clang -flto":
            return image.linked(made, [], [], [clangs_program(image, made)])
        case "burnish":
            own = [*cc, "--budget", options.budget]
            return image.linked(made, [], [], image.compiled(made, own, [], options.jobs))
    own = [*cc, "--whole-program", "--budget", options.program_budget]
    return image.linked(made, own, [], image.compiled(made, own, [], options.jobs))


def clangs_program(image: Image, made: Path) -> str:
    """Return the object of one module, made as by clang -Oz -flto."""
    parts, job = [], None
    for file in image.files:
        words = [*image.words[1:], "-c", file, "-o", str(made / "program.o")]
        front = clangs_module(image.words[0], words, image.folder, made / "front.bc")
        assert front, f"clang rejects {file}"
        job, module = front
        module.run("lto-pre-link<O2>", "Oz")  # functions have the attribute minsize
        parts.append(module)
    assert job
    whole = _native.Module.link(parts, internalize=True)
    whole.run("lto<O2>", "Oz")
    (made / "program.o").write_bytes(emit(whole.bitcode(), job))
    return str(made / "program.o")


def run(machine: str, program: Path, seconds: float = DEADLINE_SECONDS) -> Execution:
    """Run a program in QEMU, which counts its instructions."""
    limits = RunLimits(timeout_seconds=seconds)
    own = EMULATORS[machine]
    return execute(program, Run("own"), limits=limits, counters=(INSTRUCTIONS,), emulator=own)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables, as Markdown: bytes that are loaded, and instructions, each against gcc -Os."""
    lines = []
    for machine in dict.fromkeys(row["machine"] for row in rows):
        own = [row for row in rows if row["machine"] == machine]
        lines += [f"| {machine} | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
        for row in own:
            first, *others = (row[way]["loaded"] for way in WAYS)
            changes = [f"{size / first - 1:+.1%}" for size in others]
            lines.append(f"| {row['image']} | {first:,} | {' | '.join(changes)} |")
        sums = [sum(row[way]["loaded"] for row in own) for way in WAYS]
        changes = [f"{size / sums[0] - 1:+.1%}" for size in sums[1:]]
        lines.append(f"| all | {sums[0]:,} | {' | '.join(changes)} |")
        executed = [
            math.exp(
                math.fsum(math.log(row[way]["instructions"] / row["gcc"]["instructions"]) for row in own)
                / len(own)
            )
            - 1
            for way in WAYS[1:]
        ]
        changes = [f"{change:+.1%}" for change in executed]
        lines += [f"| instructions, geometric mean | | {' | '.join(changes)} |", ""]
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    main()
