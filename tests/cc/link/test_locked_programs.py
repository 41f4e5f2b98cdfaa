"""A lock has the traces of whole programs, too: each machine links the same ones without a search."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.commands import lock
from burnish.cc.commands.launch import find_launcher
from tests.cc.link.conftest import C


def linked(folder: Path, compiled: Path, *options: str, output: str = "program") -> tuple[Record, bytes]:
    """Link the objects of C in a folder; return the line of the log, and the program."""
    burnish = [find_launcher("burnish-cc"), "--alone", "--whole-program", "--report", str(folder / "log")]
    objects = [os.path.relpath(compiled / source.replace(".c", ".o"), folder) for source in C]
    command = [*burnish, *options, "-Oz", *objects, "-o", output, "-Wl,--gc-sections"]
    subprocess.run(command, cwd=folder, check=True, timeout=300)
    return build_log.read(folder / "log")[-1], (folder / output).read_bytes()


def test_two_machines_with_one_lock_link_the_same_program(tmp_path: Path, compiled: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "the" / "other"
    one.mkdir()
    other.mkdir(parents=True)
    first, found = linked(one, compiled, "--budget=20 evaluations")
    assert first.action == "optimized" and len(first.trace) > 1
    assert lock.main([str(one / "log"), "--directory", str(one)]) == 0
    file = (one / "burnish.lock").rename(other / "burnish.lock")
    again, made = linked(other, compiled, f"--lock={file}")
    assert (again.action, again.trace, again.evaluations) == (first.action, first.trace, 0)
    assert made == found
    unknown, _ = linked(other, compiled, f"--lock={file}", output="unknown")
    assert unknown.action == "kept"
    assert unknown.reason == "burnish.lock does not have it; burnish lock adds it"
