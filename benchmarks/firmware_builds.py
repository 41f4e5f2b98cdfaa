"""U-Boot built by its own Makefile: bytes of the image by gcc, gcc -flto and burnish cc; its tests in QEMU.

    python benchmarks/firmware_builds.py [--budget 2s] [--boards qemu_arm qemu_arm64 ...] [--jobs 2]
                                         [--sources FOLDER] [--out FOLDER]

The compiler is the only change in a build by burnish: CC="burnish-cc arm-none-eabi-gcc". One build has the
default budget, another one --budget for each file. gcc -flto is U-Boot's CONFIG_LTO, which it has for ARM.
QEMU boots each image, which runs U-Boot's own unit tests; all outputs have to be equal, except for addresses.

Packages of Debian: gcc-arm-none-eabi, gcc-aarch64-linux-gnu, gcc-riscv64-linux-gnu, qemu-system-arm,
qemu-system-misc, bison, flex, libssl-dev, device-tree-compiler, swig, python3-dev; sources by apt. --out, by
default benchmarks/results/firmware_builds, gets rows.jsonl, a row for each board, and table.txt.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.kept import keep
from kit.libraries import library_options
from kit.makefiles import counts, make
from shipped.debian import fetch_archive, unpack

from burnish.cc.commands.launch import find_launcher

PACKAGE = "u-boot"
SUITES = ("env", "lib", "overlay", "unicode")
# No autoboot: the image runs its tests, then turns the machine off. The UEFI programs need another linker.
SETTINGS = (
    "CONFIG_UNIT_TEST=y",
    "CONFIG_CONSOLE_RECORD=y",
    "CONFIG_BOOTDELAY=0",
    "CONFIG_USE_BOOTCOMMAND=y",
    f'CONFIG_BOOTCOMMAND="{"; ".join(f"ut {suite}" for suite in SUITES)}; poweroff"',
    "# CONFIG_USE_PREBOOT is not set",
    "# CONFIG_BOOTSTD is not set",
    "# CONFIG_CMD_BOOTEFI_SELFTEST is not set",
    "# CONFIG_CMD_BOOTEFI_HELLO_COMPILE is not set",
)
WAYS = ("gcc -Os", "gcc -Os -flto", "burnish cc", "burnish cc, longer")
VARIES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,16}\b")  # addresses
DEADLINE_SECONDS = 120


@dataclass(frozen=True)
class Board:
    """A configuration of U-Boot, its compiler, and QEMU's board."""

    machine: str
    config: str
    prefix: str  # of the GNU tools
    emulator: tuple[str, ...]
    settings: tuple[str, ...] = ()
    has_lto: bool = False


BOARDS = {
    "qemu_arm": Board(
        "Thumb-2 (ARMv7-A)",
        "qemu_arm_defconfig",
        "arm-none-eabi-",
        ("qemu-system-arm", "-M", "virt"),
        ("CONFIG_SYS_THUMB_BUILD=y",),
        has_lto=True,
    ),
    "qemu_arm64": Board(
        "AArch64",
        "qemu_arm64_defconfig",
        "aarch64-linux-gnu-",
        ("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a57"),
        has_lto=True,
    ),
    "qemu-riscv64": Board(
        "RV64IMAC", "qemu-riscv64_defconfig", "riscv64-linux-gnu-", ("qemu-system-riscv64", "-M", "virt")
    ),
}


def main() -> None:
    parser = library_options(__doc__, "firmware_builds")
    parser.add_argument("--boards", nargs="+", choices=BOARDS, default=list(BOARDS))
    options = parser.parse_args()
    keep(rows(options), options.out, table)


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each board."""
    folder = options.sources.absolute() / PACKAGE
    if not folder.is_dir():
        unpack(fetch_archive(PACKAGE, options.sources), folder)
    for name in options.boards:
        yield measured(name, BOARDS[name], folder, options)


def measured(name: str, board: Board, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Build and run U-Boot in each way; return the board's row.

    Raises:
        RuntimeError: an output differs from that of gcc's image.
    """
    row: dict[str, Any] = {"board": name, "machine": board.machine}
    expected = ""
    for way in WAYS:
        if way == "gcc -Os -flto" and not board.has_lto:
            continue
        with tempfile.TemporaryDirectory() as made:
            start = time.monotonic()
            image = build(board, way, folder, Path(made), options)
            seconds = time.monotonic() - start
            said = run(board, image)
            row[way] = {"bytes": image.stat().st_size, "seconds": round(seconds, 1)}
            if (log := Path(made) / "log").exists():
                row[way] |= counts(log)
        print(f"{name} {way}: {row[way]}", file=sys.stderr, flush=True)
        expected = expected or said
        if said != expected or "Failures: " not in said:
            raise RuntimeError(f"{name} {way}: printed\n{said}\nnot\n{expected}")
    row["tests"] = expected.count("Test: ")
    return row


def build(board: Board, way: str, folder: Path, made: Path, options: argparse.Namespace) -> Path:
    """Build U-Boot in one way; return the image that a board's memory gets."""
    compiler, settings = f"{board.prefix}gcc", [*SETTINGS, *board.settings]
    if way.startswith("burnish"):
        budget = [] if way == "burnish cc" else ["--budget", options.budget]
        own = [find_launcher("burnish-cc"), "--remember=none", *budget, "--report", str(made / "log")]
        compiler = " ".join([*own, compiler])
    elif way == "gcc -Os -flto":
        settings.append("CONFIG_LTO=y")
    words = (f"O={made}", f"CROSS_COMPILE={board.prefix}", f"CC={compiler}")
    make(folder, *words, board.config)
    with (made / ".config").open("a") as config:
        config.write("".join(f"{line}\n" for line in settings))
    make(folder, *words, "olddefconfig")
    make(folder, *words, f"-j{options.jobs}", "u-boot.bin")
    return made / "u-boot.bin"


def run(board: Board, image: Path) -> str:
    """Boot an image in QEMU until it turns the machine off; return what it prints, without addresses."""
    options = "-m 128 -display none -serial stdio -nic none -bios".split()
    done = subprocess.run(
        [*board.emulator, *options, image],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=True,
    )
    return VARIES.sub("ADDRESS", done.stdout.decode(errors="replace"))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: bytes of the image against gcc -Os, and the time of each build."""
    lines = [f"| U-Boot for | {' | '.join(WAYS)} | tests |", "|---" * (len(WAYS) + 2) + "|"]
    for row in rows:
        first = row[WAYS[0]]
        cells = [f"{first['bytes']:,}"]
        for way in WAYS[1:]:
            if found := row.get(way):
                change, longer = found["bytes"] / first["bytes"] - 1, found["seconds"] / first["seconds"]
                cells.append(f"{change:+.1%} ({longer:.1f} times the time)")
            else:
                cells.append("")
        lines.append(f"| {row['machine']} | {' | '.join(cells)} | {row['tests']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
