"""Time of one call of burnish-cc and of clang: a configure script's commands, and commands that pass through.

    python benchmarks/calls.py [--calls 100] [--cc "burnish cc"] [--output benchmarks/results/calls.json]

Calls of both compilers alternate, one at a time. The median milliseconds of a call and the ratio of the sums
are printed; they depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from burnish.llvm.toolchain import find_tool

FUNCTIONS = "strlcpy memmem getline reallocarray fseeko setlocale mmap pipe2 dup3 clock_gettime".split()
CHECKS: dict[str, Callable[[int], str]] = {
    "main": lambda _: "int main(void) { return 0; }\n",
    "function": lambda i: (
        f"char {FUNCTIONS[i % 10]}();\nint main(void) {{ return {FUNCTIONS[i % 10]}(); }}\n"
    ),
    "header": lambda _: '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv("HOME")); }\n',
    "size": lambda i: (
        f"int main(void) {{ static int a[1 - 2 * !(sizeof(long) == {i % 9})]; return a[0]; }}\n"
    ),
}
# The arguments of each row of the table, without the source file conftest.c.
CONFIGURE = {
    "compiles": "-g -Oz -c -o conftest.o",
    "compiles and links": "-g -Oz -o conftest -Wl,--as-needed",
}
PASSED = {
    "version": "--version",
    "preprocesses": "-E -o /dev/null",
    "compiles at -O2": "-O2 -c -o conftest.o",
    "links": "-o conftest main.o",
    "dependencies": "-M -o /dev/null",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=100, help="of each row")
    parser.add_argument("--cc", default="burnish-cc", help="what is compared with clang")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    clang = [str(find_tool("clang"))]
    with tempfile.TemporaryDirectory(prefix="burnish-calls-") as scratch:
        folder = Path(scratch)
        ours = [*shlex.split(options.cc), "--report", str(folder / "log")]
        (folder / "main.c").write_text(CHECKS["main"](0))
        subprocess.run([*clang, "-c", "main.c"], cwd=folder, check=True)
        rows = {}
        for name, line in (CONFIGURE | PASSED).items():
            source = [] if name in ("links", "version") else ["conftest.c"]
            pairs = list(timed(folder, clang, ours, [*line.split(), *source], options.calls))
            rows[name] = {
                "clang_ms": round(1000 * statistics.median(theirs for theirs, _ in pairs), 1),
                "burnish_ms": round(1000 * statistics.median(mine for _, mine in pairs), 1),
                "ratio": round(sum(mine for _, mine in pairs) / sum(theirs for theirs, _ in pairs), 3),
            }
            print(f"{name:20}", *(f"{key} {value:>8}" for key, value in rows[name].items()), flush=True)
    if options.output:
        options.output.write_text(json.dumps({"cc": options.cc, "calls": options.calls, "rows": rows}) + "\n")


def timed(
    folder: Path, clang: list[str], ours: list[str], arguments: list[str], calls: int
) -> Iterator[tuple[float, float]]:
    """Yield the seconds of a call of clang and of one of burnish; they take turns in being called first."""
    # so that burnish-cc is found next to this Python, also without an activated environment
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    environment = os.environ | {"PATH": path}
    checks = list(CHECKS.values())
    for number in range(calls):
        (folder / "conftest.c").write_text(checks[number % len(checks)](number))
        order = (clang, ours) if number % 2 else (ours, clang)
        seconds, codes = {}, set()
        for compiler in order:
            start = time.perf_counter()
            done = subprocess.run([*compiler, *arguments], cwd=folder, env=environment, capture_output=True)
            seconds[compiler[0]] = time.perf_counter() - start
            codes.add(done.returncode)
        assert len(codes) == 1, f"{arguments}: exit codes {codes}"
        yield seconds[clang[0]], seconds[ours[0]]


if __name__ == "__main__":
    main()
