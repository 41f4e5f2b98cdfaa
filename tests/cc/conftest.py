"""A small project, and compilers to build it with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from burnish.cc.commands.launch import find_launcher
from burnish.llvm.toolchain import find_tool
from tests.cc.remembering import Builds
from tests.cc.served import OPTIMIZERS, run

DATA = Path(__file__).parent / "project"


@dataclass
class Compiler:
    """A compiler in a copy of the project of its own."""

    directory: Path
    command: list[str]
    log: Path | None = None

    def __call__(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return self.run([*self.command, *arguments], stdin)

    def run(self, command: Sequence[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return run(command, self.directory, stdin, seconds=60)

    def optimize(self, *arguments: str) -> None:
        """Compile, and check that the first object is smaller than clang's."""
        self(*arguments)
        assert self.records()[0]["action"] == "optimized"

    def files(self) -> dict[str, bytes]:
        """Return what is in the directory now."""
        every = sorted(path for path in self.directory.rglob("*") if path.is_file())
        return {str(path.relative_to(self.directory)): path.read_bytes() for path in every}

    def records(self) -> list[dict[str, Any]]:
        """Return the lines of the build log."""
        assert self.log
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@contextlib.contextmanager
def compiling(compiler: Compiler, level: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a compiler whose clang reads a pipe, and gets nothing from it."""
    pipe = compiler.directory / "slow.c"
    os.mkfifo(pipe)
    process = subprocess.Popen([*compiler.command, level, "-c", "slow.c"], cwd=compiler.directory)
    with pipe.open("wb"):  # opens when clang has
        yield process
    pipe.unlink()


def write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def copied_launcher(folder: Path) -> str:
    """Return burnish-cc in a new folder of its own, with clang and lld."""
    folder.mkdir()
    shutil.copy(find_launcher("burnish-cc"), folder)
    for tool in ("clang", "ld.lld"):
        (folder / tool).symlink_to(find_tool(tool))
    return str(folder / "burnish-cc")


def make_stock(directory: Path, language: str = "cc") -> Compiler:
    """Return clang itself."""
    shutil.copytree(DATA, directory)
    return Compiler(directory, [str(find_tool({"cc": "clang", "c++": "clang++"}[language]))])


def make_drop_in(directory: Path, optimizer: str, language: str = "cc", *options: str) -> Compiler:
    """Return `burnish cc` or `burnish c++` with one of the stand-ins as its optimizer."""
    shutil.copytree(DATA, directory)
    log = directory.with_suffix(".jsonl")
    command = [sys.executable, str(OPTIMIZERS), optimizer, language, "--report", str(log), *options]
    return Compiler(directory, command, log=log)


@pytest.fixture(scope="package", autouse=True)
def servers_folder() -> Iterator[None]:
    """Give the launchers' servers a folder of their own: the user's are not of this code."""
    with tempfile.TemporaryDirectory(prefix="burnish-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        yield


@pytest.fixture
def clang(tmp_path: Path) -> Compiler:
    return make_stock(tmp_path / "clang")


@pytest.fixture
def shrink(tmp_path: Path) -> Compiler:
    return make_drop_in(tmp_path / "shrink", "shrink")


@pytest.fixture
def like_clang(tmp_path: Path) -> Compiler:
    return make_drop_in(tmp_path / "like_clang", "like_clang")


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """A folder with one compilation that a memory has; not to be changed."""
    builds = Builds(tmp_path_factory.mktemp("built"))
    builds.build("--budget=0.3s")
    return builds


@pytest.fixture
def built(built_once: Builds, tmp_path: Path) -> Builds:
    """A copy of that folder."""
    return built_once.copied(tmp_path)
