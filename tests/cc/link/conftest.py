"""A program of several units in C, and one in C++, built by `burnish cc --whole-program`."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from burnish.cc.linked import read_linked
from burnish.llvm.toolchain import find_tool
from tests.cc.served import OPTIMIZERS, run

PROJECT = Path(__file__).parent / "project"
C = ("main.c", "find.c", "sums.c", "twice.c")
CXX = ("shapes.cpp", "square.cpp", "circle.cpp", "twice.c")
FLAGS = ("-Oz", "-ffunction-sections", "-fdata-sections")


@dataclass
class Builds:
    """A folder with the project's files, and compilers for it."""

    folder: Path
    log: Path
    compiled: Path | None = None  # a folder with the objects of C
    optimizer: str = "shrink"
    options: tuple[str, ...] = ()

    def cc(self, *words: str, cxx: bool = False) -> None:
        """Run `burnish cc --whole-program`, with a stand-in for its search."""
        language = "c++" if cxx else "cc"
        own = ["--report", str(self.log), "--whole-program", *self.options]
        self.run(sys.executable, str(OPTIMIZERS), self.optimizer, language, *own, *words)

    def clang(self, *words: str, cxx: bool = False) -> None:
        """Run clang itself."""
        self.run(str(find_tool("clang++" if cxx else "clang")), *words)

    def run(self, *command: str) -> str:
        """Run a command in the folder and return what it prints."""
        done = run(command, self.folder)
        assert not done.returncode, done.stderr.decode()
        return done.stdout.decode()

    def objects(self, *sources: str, flags: tuple[str, ...] = FLAGS) -> list[str]:
        """Compile the sources by `burnish cc --whole-program` and return the objects."""
        missing = [source for source in sources if flags != FLAGS or not self._copied(source)]
        for cxx in (False, True):
            if of_language := [source for source in missing if source.endswith(".cpp") is cxx]:
                self.cc(*flags, "-c", *of_language, cxx=cxx)
        return [str(Path(source).with_suffix(".o")) for source in sources]

    def _copied(self, source: str) -> bool:
        """Copy the object of a source of C, unless the test changed the source or the options."""
        if not self.compiled or self.options or source not in C:
            return False
        if (self.folder / source).read_bytes() != (self.compiled / source).read_bytes():
            return False
        shutil.copy((self.compiled / source).with_suffix(".o"), self.folder)
        return True

    def link(self, output: str, *words: str, cxx: bool = False) -> dict[str, Any]:
        """Link with `burnish cc --whole-program`, once more with clang, and return the line of the log.

        The output of clang is OUTPUT.clang; both programs print the same.
        """
        self.clang(*words, "-o", f"{output}.clang", cxx=cxx)
        self.cc(*words, "-o", output, cxx=cxx)
        (last,) = [row for row in self.records() if row["output"] == output]
        if "-shared" not in words:
            assert self.run(f"./{output}", "7") == self.run(f"./{output}.clang", "7").replace(".clang", "")
        assert last["loaded_bytes"] == self.loaded(output)
        assert last["loaded_bytes_before"] == self.loaded(f"{output}.clang")
        return last

    def loaded(self, program: str) -> int:
        """Return what a program loads."""
        return read_linked(self.folder / program).loaded_bytes

    def symbols(self, program: str, *options: str) -> set[str]:
        """Return the names that a file defines, by nm."""
        printed = self.run(str(find_tool("llvm-nm")), "--defined-only", *options, program)
        return {line.split()[-1] for line in printed.splitlines() if line.strip()}

    def records(self) -> list[dict[str, Any]]:
        """Return the lines of the build log."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile C once for all tests, and return the folder."""
    folder = tmp_path_factory.mktemp("compiled") / "project"
    shutil.copytree(PROJECT, folder)
    Builds(folder, folder.parent / "log.jsonl").objects(*C)
    return folder


@pytest.fixture
def builds(tmp_path: Path, compiled: Path) -> Builds:
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder)
    return Builds(folder, tmp_path / "log.jsonl", compiled)
