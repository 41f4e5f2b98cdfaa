"""Comparison of the baselines -O0 ... -Oz with `clang -c`: object files of 50 real C files at six levels.

    python benchmarks/baselines.py [--files 50]

Each file and level has clang's own object and two of burnish: one from the level's own front end (`fresh`),
and one from the module that the front end of -Oz makes (`shared`). Equal means: the same number of .text
bytes and the same file size. Exit code 1 if one differs; -O0 from the front end of -Oz may differ.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

from kit.programs import module_of, units_of

from burnish import _native
from burnish.llvm.corpora import Unit
from burnish.llvm.modules.session import open_baseline
from burnish.llvm.toolchain import LEVELS, find_tool

PACKAGES = ("zopfli", "brotli", "lz4", "cmarkgfm")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    options = parser.parse_args()
    units = (unit for unit in units_of(PACKAGES, options.sources) if unit.language == "c")
    equal: Counter[tuple[str, str]] = Counter()
    count = 0
    for unit in islice(units, options.files):
        count += 1
        shared = module_of(unit)
        for level in LEVELS:
            wanted = sizes(clang_object(unit, level))
            fresh = module_of(unit, level)
            equal["fresh", level] += sizes(open_baseline(fresh, level).object_code()) == wanted
            equal["shared", level] += sizes(open_baseline(shared, level).object_code()) == wanted
    print(f"| of {count} files, equal to clang's object | {' | '.join(LEVELS)} |")
    print("|---" * (len(LEVELS) + 1) + "|")
    for kind, words in (
        ("fresh", "the level's own front end"),
        ("shared", "one module, from -Oz' front end"),
    ):
        print(f"| {words} | {' | '.join(str(equal[kind, level]) for level in LEVELS)} |")
    promised = [("fresh", level) for level in LEVELS] + [
        ("shared", level) for level in LEVELS if level != "O0"
    ]
    sys.exit(any(equal[key] != count for key in promised))


def clang_object(unit: Unit, level: str) -> bytes:
    """Compile with clang itself, in the folder and with the options that burnish uses."""
    options = [f"-fmacro-prefix-map={unit.root}/=", *unit.options]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "unit.o"
        command = [str(find_tool("clang")), *options, f"-{level}", "-c", unit.path, "-o", str(output)]
        subprocess.run(command, cwd=unit.root, check=True)
        return output.read_bytes()


def sizes(content: bytes) -> tuple[int, int]:
    measured = _native.object_sizes(content)
    return measured.text_bytes, measured.object_bytes


if __name__ == "__main__":
    main()
