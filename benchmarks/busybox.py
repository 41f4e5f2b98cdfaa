"""BusyBox, a program of 1 MB, built by its own Makefile for this machine: bytes by each compiler; its tests.

    python benchmarks/busybox.py [--ways "gcc -Os" "burnish cc -Oz" ...] [--jobs 2] [--sources FOLDER]
                                 [--out FOLDER]

The configuration is BusyBox's default without tc, which needs older headers of Linux. Its Makefile gives -Os,
and -Oz comes behind that. `burnish cc gcc -Os` is CC="burnish-cc gcc". gcc -flto fails, because parts are
linked by `ld -r`. Each build by burnish begins with an empty memory. BusyBox's own tests run with each
program; no test may fail that does not fail with gcc's.

Packages of Debian: gcc, make; sources by apt. --out, by default benchmarks/results/busybox, gets rows.jsonl,
a row for each way, and table.txt.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
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
from burnish.cc.linked import read_linked
from burnish.llvm.toolchain import find_tool

PACKAGE = "busybox"
LEFT_OUT = ("TC", "FEATURE_TC_INGRESS")
RESULT = re.compile(r"^(PASS|FAIL): (.*)$", re.MULTILINE)
TESTS_SECONDS = 600


@dataclass(frozen=True)
class Way:
    """A compiler and the options that come behind those of the Makefile."""

    compiler: str
    options: str = ""


def ways() -> dict[str, Way]:
    """Return all ways; the clang of burnish's package finds no static libunwind, so libgcc has its place."""
    clang = f"{find_tool('clang')} --unwindlib=libgcc"
    burnish = f"{find_launcher('burnish-cc')} --remember MEMORY --report LOG"
    return {
        "gcc -Os": Way("gcc"),
        "clang -Oz": Way(clang, "-Oz"),
        "clang -Oz -flto": Way(clang, "-Oz -flto"),
        "burnish cc gcc -Os": Way(f"{burnish} gcc"),
        "burnish cc -Os": Way(burnish),
        "burnish cc -Oz": Way(burnish, "-Oz"),
        "burnish cc -Oz -flto": Way(burnish, "-Oz -flto"),
    }


def main() -> None:
    parser = library_options(__doc__, "busybox")
    parser.add_argument("--ways", nargs="+", choices=ways(), default=list(ways()))
    options = parser.parse_args()
    keep(rows(options), options.out, table)


def rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each way.

    Raises:
        RuntimeError: a test fails that does not fail with the first way's program.
    """
    folder = options.sources.absolute() / PACKAGE
    if not folder.is_dir():
        unpack(fetch_archive(PACKAGE, options.sources), folder)
    expected: frozenset[str] | None = None
    for name in options.ways:
        with tempfile.TemporaryDirectory() as made:
            # BusyBox's tests need the sources beside the program.
            copy = shutil.copytree(folder, Path(made) / PACKAGE)
            row, failed = measured(ways()[name], copy, options.jobs)
        print(f"{name}: {row}", file=sys.stderr, flush=True)
        expected = failed if expected is None else expected
        if more := failed - expected:
            raise RuntimeError(f"{name}: these tests fail: {', '.join(sorted(more))}")
        yield {"way": name, **row}


def measured(way: Way, folder: Path, jobs: int) -> tuple[dict[str, Any], frozenset[str]]:
    """Build and test BusyBox in a folder; return the figures, and the tests that fail."""
    log, memory = folder / "log", folder / "memory"
    compiler = way.compiler.replace("LOG", str(log)).replace("MEMORY", str(memory))
    words = (f"CC={compiler}", "HOSTCC=gcc")
    make(folder, *words, "defconfig")
    config = (folder / ".config").read_text()
    for name in LEFT_OUT:
        config = config.replace(f"CONFIG_{name}=y\n", f"# CONFIG_{name} is not set\n")
    for name in ("CFLAGS", "LDFLAGS"):
        config = config.replace(f'CONFIG_EXTRA_{name}=""', f'CONFIG_EXTRA_{name}="{way.options}"')
    (folder / ".config").write_text(config)
    make(folder, *words, "oldconfig")
    start = time.monotonic()
    make(folder, *words, f"-j{jobs}", "busybox")
    row: dict[str, Any] = {"seconds": round(time.monotonic() - start, 1)}
    row["loaded_bytes"] = read_linked(folder / "busybox").loaded_bytes
    if log.exists():
        row |= counts(log)
    passed, failed = results(folder)
    return {**row, "passed": len(passed)}, failed


def results(folder: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Run BusyBox's tests; return those that pass, and those that fail."""
    suite = folder / "testsuite"
    done = subprocess.run(
        ["./runtest"],
        cwd=suite,
        env={**os.environ, "bindir": str(folder), "srcdir": str(suite)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TESTS_SECONDS,
        check=False,
    )
    found = RESULT.findall(done.stdout.decode(errors="replace"))
    passed, failed = (frozenset(name for way, name in found if way == what) for what in ("PASS", "FAIL"))
    return passed, failed


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: bytes and times against the first way."""
    first = rows[0]
    lines = [f"| | loaded bytes | against {first['way']} | build | tests passed |", "|---|---|---|---|---|"]
    for row in rows:
        change, longer = (row[name] / first[name] for name in ("loaded_bytes", "seconds"))
        cells = (
            f"{row['loaded_bytes']:,}",
            f"{change - 1:+.1%}",
            f"{longer:.1f} times the time",
            row["passed"],
        )
        lines.append(f"| {row['way']} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
