"""Random programs for other machines: outputs and executed instructions by gcc, clang and burnish.

    python benchmarks/firmware_random.py [--programs 200] [--first 0] [--budget 2s] [--jobs 2]
                                         [--machines cortex-m4 rv32imc aarch64 wasm32] [--out FOLDER]

csmith generates the programs, each with a sum over its variables as the output (Yang, Chen, Eide, Regehr:
"Finding and Understanding Bugs in C Compilers", PLDI 2011). Each is built by gcc -Os, by clang -Oz, by
`burnish cc` before gcc, and by `burnish cc --whole-program`; for WebAssembly, where there is no GCC, burnish
is the compiler. The programs run in QEMU or wasmtime, which count the executed instructions. Programs that do
not end within some seconds, or that fault by gcc already, are left out. Packages of Debian: csmith,
libcsmith-dev and those of firmware_images.py and wasm_modules.py. --out, by default
benchmarks/results/firmware_random, gets rows.jsonl, a row for each program and machine, and table.txt.
Programs whose outputs differ are kept there as MACHINE-SEED.c, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import math
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

import firmware_images
import wasm_modules
from firmware import MACHINES, SECTIONS
from firmware_images import EMULATORS, Image
from kit.kept import keep
from wasm_modules import Source

from burnish.core.program import Run
from burnish.llvm.run.running import INSTRUCTIONS
from burnish.tasks.wasm_passes.running import execute

HEADERS = "-I/usr/include/csmith"
WAYS = ("gcc", "clang", "burnish", "burnish whole")
OURS = WAYS[2:]
DEADLINE_SECONDS = 10  # of a run by gcc or clang
OURS_SECONDS = 30  # of burnish's, on a machine with other work


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument(
        "--machines", nargs="+", choices=[*EMULATORS, "wasm32"], default=["cortex-m4", "rv32imc"]
    )
    parser.add_argument("--budget", default="2s", help="for each file, and for each program")
    parser.add_argument("--first", type=int, default=0, help="seed of the first program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "firmware_random")
    options = parser.parse_args()
    options.program_budget = options.budget
    options.out.mkdir(parents=True, exist_ok=True)
    rows = keep(measured(options), options.out, table)
    return int(any(row[way].get("outcome") == "differs" for row in rows for way in OURS if way in row))


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each program and machine."""
    seeds = range(options.first, options.first + options.programs)
    with ThreadPoolExecutor(options.jobs) as pool:
        for machine in options.machines:
            for row in pool.map(partial(compared, machine=machine, options=options), seeds):
                yield row
                print(row, file=sys.stderr, flush=True)


def compared(seed: int, machine: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return a program's row, with the result of each way.

    That of burnish has an outcome: "kept" (gcc's or clang's object), "same" or "differs". A program that does
    not end, or whose sum is not printed, has only its machine and its seed.
    """
    row: dict[str, Any] = {"machine": machine, "seed": seed}
    expected = b""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["csmith", "--seed", str(seed), "--output", "random.c"], cwd=folder, check=True)
        build_and_run = module if machine == "wasm32" else partial(image, machine)
        for way in WAYS[machine == "wasm32" :]:
            made = Path(folder) / way
            made.mkdir()
            ran = build_and_run(Path(folder), made, way, options)
            found: dict[str, Any] = {"instructions": ran[1]} if ran else {}
            printed = ran[0] if ran else b""
            expected = expected or printed
            if not expected.startswith(b"checksum = "):
                return row
            log = made / "log"
            if way in OURS:
                actions = {json.loads(line)["action"] for line in log.read_text().splitlines()}
                found["outcome"] = "same" if "optimized" in actions else "kept"
                if printed != expected:  # or it does not end
                    found["outcome"] = "differs"
                    shutil.copy(Path(folder) / "random.c", options.out / f"{machine}-{seed}.c")
            row[way] = found
    return row


def image(
    machine: str, folder: Path, made: Path, way: str, options: argparse.Namespace
) -> tuple[bytes, int] | None:
    """Build and run a program in QEMU; return its output and instructions, or None if it does not end."""
    words = (*MACHINES[machine], *SECTIONS, HEADERS)
    program = firmware_images.build(
        Image("random", machine, folder, ("random.c",), words), way, made, options
    )
    ran = firmware_images.run(machine, program, seconds_for(way))
    return None if ran.killed else (ran.output + ran.errors, ran.counters.get(INSTRUCTIONS, 0))


def module(folder: Path, made: Path, way: str, options: argparse.Namespace) -> tuple[bytes, int] | None:
    """Build and run a program in wasmtime, as image()."""
    source = Source("random", folder, ("random.c",), (HEADERS, "-w"))
    if way == "clang":
        linked = made / "linked.wasm"
        wasm_modules.link(wasm_modules.compiled(source, way, made, options), linked)
        content = linked.read_bytes()
    else:
        own = ["--report", str(made / "log"), "--budget", options.budget]
        content = wasm_modules.by_burnish(source, own + ["--whole-program"] * (way == "burnish whole"))
    (outcome,) = execute(content, [Run("own")], {}, seconds_for(way))
    return None if outcome.trap else (outcome.output + outcome.errors, outcome.fuel)


def seconds_for(way: str) -> int:
    """Return the time after which a run ends."""
    return OURS_SECONDS if way in OURS else DEADLINE_SECONDS


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the tables, as Markdown: programs by outcome, and executed instructions against clang -Oz.

    Instructions are of programs that burnish made smaller and that print the same.
    """
    lines = [
        "| machine | built by | programs | smaller, same output | gcc's or clang's | left out | differs |"
    ]
    lines.append("|---" * 7 + "|")
    executed = ["| machine | built by | programs | instructions, geometric mean | 95th percentile | most |"]
    executed.append("|---" * 6 + "|")
    for machine in dict.fromkeys(row["machine"] for row in rows):
        own = [row for row in rows if row["machine"] == machine]
        for way in OURS:
            found = Counter(row[way]["outcome"] if way in row else "left out" for row in own)
            counts = [found[name] for name in ("same", "kept", "left out", "differs")]
            lines.append(f"| {machine} | {way} | {found.total()} | {' | '.join(map(str, counts))} |")
            ratios = sorted(
                row[way]["instructions"] / row["clang"]["instructions"]
                for row in own
                if way in row and row[way]["outcome"] == "same" and "clang" in row
            )
            if ratios:
                mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
                shown = (mean, ratios[math.ceil(0.95 * len(ratios)) - 1], ratios[-1])
                changes = " | ".join(f"{ratio - 1:+.1%}".replace("%", " %") for ratio in shown)
                executed.append(f"| {machine} | {way} | {len(ratios)} | {changes} |")
    return "\n".join([*lines, "", *executed])


if __name__ == "__main__":
    sys.exit(main())
