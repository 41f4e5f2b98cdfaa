"""burnish.lock: the same objects on every machine, whatever was built there before."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.commands import lock as command
from burnish.cc.commands.launch import find_launcher
from burnish.cc.lock import read_lock
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool
from tests.sources import DATA

FILES = ("hash_table.c", "matrix.c")


class Machine:
    """A copy of a small project, with a home and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        (self.project / "src").mkdir(parents=True)
        self.log = folder / "log.jsonl"
        for name in FILES:
            (self.project / "src" / name).write_bytes((DATA / name).read_bytes())
        self.variables = os.environ | {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}

    def build(self, *options: str, names: tuple[str, ...] = FILES) -> dict[str, bytes]:
        """Compile all files, and return their objects."""
        burnish = [find_launcher("burnish-cc"), "--alone", "--report", str(self.log), *options]
        for name in names:
            line = [*burnish, "-Oz", "-c", f"src/{name}", "-o", f"{name}.o"]
            subprocess.run(line, cwd=self.project, env=self.variables, check=True, timeout=300)
        return {name: (self.project / f"{name}.o").read_bytes() for name in names}

    def lock(self) -> Path:
        """Write the lock of the last build."""
        assert command.main([str(self.log), "--directory", str(self.project)]) == 0
        return self.project / "burnish.lock"


@pytest.fixture
def first(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "first")


@pytest.fixture
def second(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "another" / "machine")


def test_two_machines_with_one_lock_make_the_same_objects(first: Machine, second: Machine) -> None:
    """The second one has other paths, another home and no memory, and nothing is searched there."""
    found = first.build("--budget=60evaluations")
    file = first.lock()
    (second.project / "burnish.lock").write_bytes(file.read_bytes())
    assert second.build("--lock", str(second.project / "burnish.lock")) == found
    records = build_log.read(second.log)
    assert [record.action for record in records] == ["optimized", "optimized"]
    assert not any(record.evaluations for record in records)
    assert not (second.project.parent / "cache").exists()


def test_a_changed_file_gets_its_trace_as_far_as_it_applies(first: Machine) -> None:
    first.build("--budget=2s", names=FILES[:1])
    before = build_log.read(first.log)[-1]
    file = first.lock()
    source = first.project / "src" / FILES[0]
    source.write_text(source.read_text() + "\nint another(int x) { return 3 * x; }\n")
    first.build("--lock", str(file), names=FILES[:1])
    after = build_log.read(first.log)[-1]
    assert (after.action, after.trace) == ("optimized", before.trace)


def test_what_a_lock_does_not_have_stays_clangs(first: Machine) -> None:
    first.build("--budget=0.3s", names=FILES[:1])
    file = first.lock()
    made = first.build("--lock", str(file), names=FILES[1:])[FILES[1]]
    assert build_log.read(first.log)[-1].reason == "burnish.lock does not have it; burnish lock adds it"
    line = [str(find_tool("clang")), "-Oz", "-c", f"src/{FILES[1]}", "-o", "clang.o"]
    subprocess.run(line, cwd=first.project, check=True)
    assert made == (first.project / "clang.o").read_bytes()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a lock"),
        ("{}\n", "it is of , and this is burnish"),
        ('{"burnish": "0.0.1", "llvm": "1"}\n', "it is of burnish 0.0.1, llvm 1, and this is burnish"),
        ("nonsense\n", "expected a lock: write it again by burnish lock"),
    ],
)
def test_a_wrong_lock_is_an_error(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "burnish.lock").write_text(text)
    with pytest.raises(InputError, match=why):
        read_lock(tmp_path / "burnish.lock")


def test_a_build_with_a_wrong_lock_fails(first: Machine) -> None:
    (first.project / "wrong").write_text("nonsense\n")
    line = [find_launcher("burnish-cc"), "--lock=wrong", "-Oz", "-c", f"src/{FILES[0]}", "-o", "a.o"]
    done = subprocess.run(line, cwd=first.project, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected a lock" in done.stderr


def test_nothing_to_lock_is_an_error(first: Machine, tmp_path: Path) -> None:
    first.build("--budget=0.3s")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no object at or below"):
        command.main([str(first.log), "--directory", str(tmp_path / "empty")])
        first.lock()
    assert not (tmp_path / "empty" / "burnish.lock").exists()
