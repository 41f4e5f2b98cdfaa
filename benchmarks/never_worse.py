"""Check on many translation units that no object of `burnish cc` loads more bytes than that of clang -Oz.

    python benchmarks/never_worse.py --budget 2s [--output benchmarks/results/never_worse.jsonl]

Every unit of the packages of the test split is compiled twice with the same options, in separate processes:
by `clang -Oz -c` and by `burnish cc --budget B -Oz -c`. Exit code 1 if one object is larger in loaded bytes,
or in bytes of code and read-only data.
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

from kit.programs import units_of

from burnish import _native
from burnish.llvm.corpora import Unit
from burnish.llvm.corpora.manifest import packages_in
from burnish.llvm.toolchain import find_tool

LIBRARY = ("-stdlib=libstdc++",)  # for C++: the default of burnish c++, but not of the wheel's clang++


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
    """Return the units, package by package."""
    return list(islice(units_of(packages_in(options.split), options.sources), options.units))


def compare(unit: Unit, budget: str) -> dict[str, object]:
    """Compile a unit in both ways and return its row of sizes."""
    cxx = unit.language == "c++"
    clang = [str(find_tool("clang++" if cxx else "clang"))]
    burnish = [sys.executable, "-m", "burnish.cli", "c++" if cxx else "cc"]
    options = [*unit.arguments, *LIBRARY] if cxx else unit.arguments
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        sizes = [
            sizes_of([*compiler, *options, "-Oz", "-c", str(unit.source)], Path(folder) / "unit.o")
            for compiler in (clang, [*burnish, "--remember=none", "--budget", budget, "--report", str(log)])
        ]
        record = json.loads(log.read_text())
    return {
        "unit": unit.name,
        "clang": sizes[0].loaded_bytes,
        "burnish": sizes[1].loaded_bytes,
        "clang_text": sizes[0].text_bytes,
        "burnish_text": sizes[1].text_bytes,
        "clang_constant": sizes[0].text_bytes + sizes[0].read_only_bytes,
        "burnish_constant": sizes[1].text_bytes + sizes[1].read_only_bytes,
        "action": record["action"],
        "reason": record["reason"],
        "evaluations": record["evaluations"],
        "trace": record["trace"],
    }


def sizes_of(command: list[str], output: Path) -> _native.Sizes:
    subprocess.run([*command, "-o", str(output)], check=True)
    return _native.object_sizes(output.read_bytes())


def report(rows: list[dict[str, object]], seconds: float) -> int:
    def pairs(kind: str) -> list[tuple[int, int]]:
        return [(int(str(row[f"clang{kind}"])), int(str(row[f"burnish{kind}"]))) for row in rows]

    loaded, constant = pairs(""), pairs("_constant")
    larger = [
        row["unit"]
        for row, (before, after), (least, most) in zip(rows, loaded, constant, strict=True)
        if after > before or most > least
    ]
    smaller = sum(after < before for before, after in loaded)
    packages = dict.fromkeys(str(row["unit"]).partition("/")[0] for row in rows)
    print(f"{len(rows)} units of {', '.join(packages)} in {seconds:.0f} s")
    print(f"larger than clang -Oz: {len(larger)}; smaller: {smaller} ({100 * smaller / len(rows):.0f} %)")
    for name, sizes in (("loaded bytes", loaded), (".text", pairs("_text"))):
        logs = [math.log(before / after) for before, after in sizes if before and after]
        total = [sum(column) for column in zip(*sizes, strict=True)]
        print(f"{name}, -Oz / burnish: geometric mean {math.exp(sum(logs) / len(logs)):.4f}, ", end="")
        print(f"in total {total[0] / total[1]:.4f} ({total[0]} -> {total[1]} bytes)")
    for unit in larger:
        print(f"LARGER: {unit}")
    return 1 if larger else 0


if __name__ == "__main__":
    main()
