"""Named modules of C++: their objects and those of their importers are made smaller, too."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import Compiler, make_drop_in

MODULE = """
export module numbers;
int steps(int x) { int sum = 0; for (int i = 0; i < x; i++) sum += i * x; return sum + x / 7; }
export int twice(int x) { return steps(x) + steps(x + 1) + 2 * x; }
export template <class Number> Number thrice(Number x) { return x + x + x; }
export int folded(const int *all, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum = twice(sum) ^ all[i];
    return sum;
}
"""
IMPORTER = """
import numbers;
static int spread(int x, int y) {
    for (int i = 0; i < y; i++) x = x * 3 + (x >> 2) - i;
    return x ^ (x >> 5);
}
int either(int a, int b) {
    if (a > b) return spread(a, b) + spread(a, 1);
    return spread(b, a) + spread(b, 1);
}
int main(int count, char **) {
    return (spread(count, 3) + spread(count, 4) + either(count, 1) + twice(thrice(count))) & 127;
}
"""
# The commands of a build with the compiled module as a file between two steps, and beside the object.
BUILDS = {
    "in two steps": (
        "--precompile numbers.cppm -o numbers.pcm",
        "-c numbers.pcm -o numbers.o",
        "-fmodule-file=numbers=numbers.pcm -c main.cpp -o main.o",
    ),
    "in one step": (
        "-c numbers.cppm -fmodule-output=numbers.pcm -o numbers.o",
        "-fprebuilt-module-path=. -c main.cpp -o main.o",
    ),
}


@pytest.fixture
def compiler(tmp_path: Path) -> Compiler:
    found = make_drop_in(tmp_path / "project", "shrink", "c++")
    (found.directory / "numbers.cppm").write_text(MODULE)
    (found.directory / "main.cpp").write_text(IMPORTER)
    return found


def result(folder: Path) -> int:
    """Link the objects, and return the exit code of the program."""
    subprocess.run([find_tool("clang"), "numbers.o", "main.o", "-o", "main"], cwd=folder, check=True)
    return subprocess.run([folder / "main"], check=False).returncode


@pytest.mark.parametrize("build", [*BUILDS])
def test_a_module_and_its_importer_are_smaller(compiler: Compiler, build: str) -> None:
    folder, clang = compiler.directory, str(find_tool("clang++"))
    for words in BUILDS[build]:
        subprocess.run([clang, "-std=c++20", "-Os", *words.split()], cwd=folder, check=True)
    expected, module = result(folder), (folder / "numbers.pcm").read_bytes()
    sizes = [(folder / name).stat().st_size for name in ("numbers.o", "main.o")]
    for words in BUILDS[build]:
        done = compiler("-std=c++20", "-Os", *words.split())
        assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "numbers.pcm").read_bytes() == module  # clang's own: no search has written another one
    assert [record["action"] for record in compiler.records()] == ["optimized"] * 2
    assert result(folder) == expected
    assert [(folder / name).stat().st_size for name in ("numbers.o", "main.o")] < sizes
