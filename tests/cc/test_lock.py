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
        self.log, self.file = folder / "log.jsonl", self.project / "burnish.lock"
        for name in FILES:
            (self.project / "src" / name).write_bytes((DATA / name).read_bytes())
        self.variables = os.environ | {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}

    def build(self, *options: str, names: tuple[str, ...] = FILES) -> dict[str, bytes]:
        """Compile all files, and return their objects."""
        for name in names:
            self.run(*options, "-Oz", "-c", f"src/{name}", "-o", f"{name}.o")
        return self.objects(names)

    def run(self, *words: str) -> None:
        """Run `burnish cc`."""
        line = [find_launcher("burnish-cc"), "--alone", "--report", str(self.log), *words]
        subprocess.run(line, cwd=self.project, env=self.variables, check=True, timeout=300)

    def objects(self, names: tuple[str, ...] = FILES) -> dict[str, bytes]:
        """Return the objects of the last build."""
        return {name: (self.project / f"{name}.o").read_bytes() for name in names}

    def lock(self) -> None:
        """Write the lock of the last build."""
        assert command.main([str(self.log), "--directory", str(self.project)]) == 0


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine that has built everything and written a lock; not to be changed."""
    machine = Machine(tmp_path_factory.mktemp("first"))
    machine.build("--budget=40evaluations")
    machine.lock()
    return machine


@pytest.fixture
def second(tmp_path: Path, first: Machine) -> Machine:
    """A machine with other paths, another home and no memory, to which the lock was copied."""
    machine = Machine(tmp_path / "another" / "machine")
    machine.file.write_bytes(first.file.read_bytes())
    return machine


def test_two_machines_with_one_lock_make_the_same_objects(first: Machine, second: Machine) -> None:
    """Nothing is searched on the second one."""
    assert second.build("--lock", str(second.file)) == first.objects()
    records = build_log.read(second.log)
    assert [record.action for record in records] == ["optimized", "optimized"]
    assert not any(record.evaluations for record in records)
    assert not (second.project.parent / "cache").exists()


def test_a_changed_file_gets_its_trace_as_far_as_it_applies(first: Machine, second: Machine) -> None:
    source = second.project / "src" / FILES[0]
    source.write_text(source.read_text() + "\nint another(int x) { return 3 * x; }\n")
    second.build("--lock", str(second.file), names=FILES[:1])
    after = build_log.read(second.log)[-1]
    assert (after.action, after.trace) == ("optimized", build_log.read(first.log)[0].trace)


def test_what_a_lock_does_not_have_stays_clangs(second: Machine) -> None:
    lines = second.file.read_text().splitlines(keepends=True)
    second.file.write_text("".join(line for line in lines if FILES[1] not in line))
    made = second.build("--lock", str(second.file), names=FILES[1:])[FILES[1]]
    assert build_log.read(second.log)[-1].reason == "burnish.lock does not have it; burnish lock adds it"
    line = [str(find_tool("clang")), "-Oz", "-c", f"src/{FILES[1]}", "-o", "clang.o"]
    subprocess.run(line, cwd=second.project, check=True)
    assert made == (second.project / "clang.o").read_bytes()


def test_one_command_compiles_and_links_by_a_lock(first: Machine, second: Machine) -> None:
    """The lock has the output of the command, not clang's temporary object."""
    second.file.write_text(second.file.read_text().replace(f'"{FILES[1]}.o"', '"library.so"'))
    second.run("--lock", str(second.file), "-Oz", "-shared", "-fPIC", f"src/{FILES[1]}", "-o", "library.so")
    record = build_log.read(second.log)[-1]
    assert (record.action, record.trace) == ("optimized", build_log.read(first.log)[1].trace)


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


def test_a_build_with_a_wrong_lock_fails(second: Machine) -> None:
    second.file.write_text("nonsense\n")
    line = [find_launcher("burnish-cc"), f"--lock={second.file}", "-Oz", "-c", f"src/{FILES[0]}"]
    done = subprocess.run(line, cwd=second.project, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "expected a lock" in done.stderr


def test_nothing_to_lock_is_an_error(first: Machine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no object at or below"):
        command.main([str(first.log), "--directory", str(tmp_path)])
    assert not (tmp_path / "burnish.lock").exists()
