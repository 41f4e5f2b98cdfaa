"""Limits of a process's files: what the kernel refuses, and what still works."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from burnish.core.errors import MissingTool
from burnish.workers import child, landlock
from burnish.workers.worker import Limits, Worker

limited = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")


def in_limits(folder: Path, code: str) -> str:
    """Run Python in a process that is limited to a folder; return what it prints."""
    begin = (
        "import sys, tempfile; from pathlib import Path; from burnish.workers import landlock\n"
        "folder = Path(sys.argv[1])\n"
        "with tempfile.TemporaryDirectory() as scratch:\n"
        "    landlock.restrict([folder], Path(scratch))\n"
    )
    inner = "".join(f"    {line}\n" for line in code.splitlines())
    words = [sys.executable, "-c", begin + inner, str(folder)]
    return subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder).stdout


TRIED = """
import socket, subprocess
from contextlib import suppress
def tried(what, *arguments):
    try:
        what(*arguments)
        print("done")
    except PermissionError:
        print("refused")
tried((folder / "inside").read_text)
tried((folder / "new").write_text, "")
tried(tempfile.TemporaryFile)
tried((folder.parent / "outside").read_text)
tried((folder.parent / "outside").write_text, "")
tried((folder / "link").read_text)
tried((folder.parent / "new").write_text, "")
tried((folder / "inside").rename, folder.parent / "moved")
tried(Path("/proc/self/environ").read_text)
tried(list, folder.parent.iterdir())
tried(socket.create_connection, ("127.0.0.1", 9))
print(subprocess.run(["cat", folder / "link"], capture_output=True).returncode)
"""


@limited
def test_files_outside_are_refused_to_the_process_and_to_its_children(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "inside").write_text("inside")
    (tmp_path / "outside").write_text("outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    code = TRIED.replace(
        "tried(list, folder.parent.iterdir())", "tried(lambda: list(folder.parent.iterdir()))"
    )
    assert in_limits(folder, code).split() == [*["done"] * 3, *["refused"] * 8, "1"]
    assert (tmp_path / "outside").read_text() == "outside"


@limited
def test_temporary_folder_can_be_removed(tmp_path: Path) -> None:
    before = set(Path(tempfile.gettempdir()).iterdir())
    made = Path(in_limits(tmp_path, "(Path(scratch) / 'file').write_text('x'); print(scratch)").strip())
    assert made not in before
    assert not made.exists()


def test_kernel_without_it_is_an_error_before_anything_is_limited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(MissingTool, match=r"Linux 5\.13"):
        landlock.restrict([tmp_path], tmp_path)
    assert Path("/proc/self/stat").read_text()


MEMORY = """
from burnish.workers.worker import Limits, Worker
from burnish.core.errors import CompilerMemory
worker = Worker(Limits(memory_bytes=1 << 28))
print(len(worker.call(bytes, 1 << 26)))
try:
    worker.call(bytes, 1 << 29)
except CompilerMemory:
    print("out of memory")
worker.close()
"""


@limited
def test_worker_has_its_memory_limit_without_proc(tmp_path: Path) -> None:
    assert in_limits(tmp_path, MEMORY).split("\n")[:2] == [str(1 << 26), "out of memory"]


def mapped_without_proc() -> tuple[int, int]:
    """Return the size of the address space by /proc, and without it; a worker calls this."""
    known = child._mapped_bytes()
    read, Path.read_text = Path.read_text, unreadable  # type: ignore[assignment, method-assign]
    try:
        return known, child._mapped_bytes()
    finally:
        Path.read_text = read  # type: ignore[method-assign]


def unreadable(path: Path) -> str:
    """Refuse as Landlock does."""
    raise PermissionError(path)


def test_size_of_the_address_space_is_found_without_proc() -> None:
    worker = Worker(Limits())
    known, found = worker.call(mapped_without_proc)
    worker.close()
    assert 0 <= found - known < 1 << 20
