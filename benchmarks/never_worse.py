"""`burnish cc` on many translation units: is an object's .text ever larger than clang -Oz makes it?

    python benchmarks/never_worse.py --budget 2s [--output benchmarks/results/never_worse.jsonl]

Every unit of the packages of the test split is compiled twice with the same options, by `clang -Oz -c` and by
`burnish cc --budget B -Oz -c`, in a process each. Exit code 1 if one object is larger.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from burnish import _native
from burnish.corpora import Unit, fetch, translation_units
from burnish.corpora.manifest import packages_in
from burnish.toolchain import find_tool


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", default="test", help="or test@1, as its first version was")
    parser.add_argument("--units", type=int, help="the first so many; all of them by default")
    parser.add_argument("--budget", default="2s", help="of search for each file, as burnish cc takes it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    start = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda unit: compare(unit, options.budget), all_units(options)))
    if options.output:
        options.output.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    sys.exit(report(rows, time.monotonic() - start))


def all_units(options: argparse.Namespace) -> list[Unit]:
    """Return the units, the packages one after the other."""
    found = (
        unit
        for package in packages_in(options.split)
        for unit in translation_units(fetch(package, options.sources), package)
        if isinstance(unit, Unit)
    )
    return list(islice(found, options.units))


def compare(unit: Unit, budget: str) -> dict[str, object]:
    """Compile a unit in both ways and return its .text bytes."""
    clang = [str(find_tool("clang++" if unit.language == "c++" else "clang"))]
    burnish = [sys.executable, "-m", "burnish.cli", "c++" if unit.language == "c++" else "cc"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        sizes = [
            text_bytes([*compiler, *unit.arguments, "-Oz", "-c", str(unit.source)], Path(folder) / "unit.o")
            for compiler in (clang, [*burnish, "--budget", budget, "--report", str(log)])
        ]
        record = json.loads(log.read_text())
    return {
        "unit": unit.name,
        "clang": sizes[0],
        "burnish": sizes[1],
        "action": record["action"],
        "reason": record["reason"],
        "evaluations": record["evaluations"],
        "trace": record["trace"],
    }


def text_bytes(command: list[str], output: Path) -> int:
    subprocess.run([*command, "-o", str(output)], check=True)
    return _native.object_sizes(output.read_bytes()).text_bytes


def report(rows: list[dict[str, object]], seconds: float) -> int:
    pairs = [(int(str(row["clang"])), int(str(row["burnish"]))) for row in rows]
    larger = [row["unit"] for row, (before, after) in zip(rows, pairs, strict=True) if after > before]
    smaller = sum(after < before for before, after in pairs)
    logs = [math.log(before / after) for before, after in pairs if before and after]
    total = [sum(column) for column in zip(*pairs, strict=True)]
    packages = dict.fromkeys(str(row["unit"]).partition("/")[0] for row in rows)
    print(f"{len(rows)} units of {', '.join(packages)} in {seconds:.0f} s")
    print(f"larger than clang -Oz: {len(larger)}; smaller: {smaller} ({100 * smaller / len(rows):.0f} %)")
    print(f".text, -Oz / burnish: geometric mean {math.exp(sum(logs) / len(logs)):.4f}, ", end="")
    print(f"in total {total[0] / total[1]:.4f} ({total[0]} -> {total[1]} bytes)")
    for unit in larger:
        print(f"LARGER: {unit}")
    return 1 if larger else 0


if __name__ == "__main__":
    main()
