"""Random programs for microcontrollers: the output of gcc's build, compared with those of burnish's builds.

    python benchmarks/firmware_random.py [--programs 200] [--first 0] [--machines cortex-m4 rv32imc]
                                         [--budget "20 evaluations"] [--jobs 2] [--out FOLDER]

csmith generates the programs, each with a sum over its variables as the output (Yang, Chen, Eide, Regehr:
"Finding and Understanding Bugs in C Compilers", PLDI 2011). Each is built by gcc -Os, by `burnish cc` before
gcc, and by `burnish cc --whole-program`, and runs in QEMU. Programs that do not end within some seconds, or
that fault by gcc already, are left out. Packages of Debian: csmith, libcsmith-dev and those of
firmware_images.py. --out, by default benchmarks/results/firmware_random, gets rows.jsonl, a row for each
program and machine, and table.txt.
Programs whose outputs differ are kept there as MACHINE-SEED.c, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from firmware import MACHINES, SECTIONS
from firmware_images import BOARDS, LINK
from kit.kept import keep

from burnish.cc.commands.launch import find_launcher

HEADERS = "/usr/include/csmith"
WAYS = ("burnish", "burnish whole")
DEADLINE_SECONDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--machines", nargs="+", choices=BOARDS, default=["cortex-m4", "rv32imc"])
    parser.add_argument("--budget", default="20 evaluations", help="for each file, and for each program")
    parser.add_argument("--first", type=int, default=0, help="seed of the first program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "firmware_random")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = keep(measured(options), options.out, table)
    return int(any(row[way] == "differs" for row in rows for way in WAYS))


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each program and machine."""
    for machine in options.machines:
        seeds = range(options.first, options.first + options.programs)
        with ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(partial(compared, machine=machine, options=options), seeds):
                yield row
                print(row, file=sys.stderr, flush=True)


def compared(seed: int, machine: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the row of a program: for each way, "kept" (gcc's own), "same", "left out" or "differs"."""
    row: dict[str, Any] = {"machine": machine, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        (made / "board.ld").write_text(BOARDS[machine].script)
        subprocess.run(["csmith", "--seed", str(seed), "--output", "random.c"], cwd=made, check=True)
        expected = output(machine, build(made, machine, []))
        if expected is None or not expected.startswith(b"checksum = "):
            return row | dict.fromkeys(WAYS, "left out")
        for way in WAYS:
            own = [find_launcher("burnish-cc"), "--remember=none", "--report", str(made / way)]
            own += ["--budget", options.budget]
            own += ["--whole-program"] if way == "burnish whole" else []
            printed = output(machine, build(made, machine, own))
            actions = [json.loads(line)["action"] for line in (made / way).read_text().splitlines()]
            row[way] = "same" if "optimized" in actions else "kept"
            if printed is None:
                row[way] = "left out"
            elif printed != expected:
                row[way] = "differs"
                shutil.copy(made / "random.c", options.out / f"{machine}-{seed}.c")
    return row


def build(made: Path, machine: str, own: Sequence[str]) -> Path:
    """Build a program, perhaps with a drop-in compiler before gcc; return it."""
    words = [*own, *MACHINES[machine], *SECTIONS, f"-I{HEADERS}"]
    for more in (["-c", "random.c", "-o", "random.o"], [*LINK, "-T", "board.ld", "random.o", "-o", "random"]):
        subprocess.run([*words, *more], cwd=made, check=True, capture_output=True)
    return made / "random"


def output(machine: str, program: Path) -> bytes | None:
    """Return the output of a program in QEMU; None if it does not end in time."""
    command = [*BOARDS[machine].qemu, "-nographic", "-kernel", str(program)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=DEADLINE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout + done.stderr


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers of programs by machine, way to build and outcome, as Markdown."""
    lines = ["| machine | built by | programs | smaller, same output | gcc's own | left out | differs |"]
    lines.append("|---" * 7 + "|")
    for machine in dict.fromkeys(row["machine"] for row in rows):
        for way in WAYS:
            found = Counter(row[way] for row in rows if row["machine"] == machine)
            counts = [found[name] for name in ("same", "kept", "left out", "differs")]
            lines.append(f"| {machine} | {way} | {found.total()} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
