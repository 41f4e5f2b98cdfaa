"""Each object of a command that makes several ones, or a program, is remembered and improved."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.improving_step import step
from burnish.cc.kept import ObjectMemory, Remembered
from tests.cc.remembering import Builds
from tests.sources import DATA

FUNCTION = 2  # STT_FUNC
SOURCES = ("table.c", "matrix.c")
PROGRAM = (*SOURCES, "main.c", "-o", "program")
COMMANDS = {
    "several objects": ("-Oz", "-c", *SOURCES),
    "a program": ("-Oz", *PROGRAM),
    "a GNU compiler's program": ("gcc", "-Os", *PROGRAM),
}


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builds:
    monkeypatch.chdir(tmp_path)  # to which the test returns after a step in this process
    shutil.copy(DATA / "matrix.c", tmp_path)
    (tmp_path / "main.c").write_text("int more(int x) { return x + 1; }\nint main() { return more(6); }\n")
    return Builds(tmp_path)


def built(builds: Builds, words: tuple[str, ...]) -> dict[str, Record]:
    """Run a command, and return the lines of the log for SOURCES."""
    builds.log.unlink(missing_ok=True)
    subprocess.run([*builds.burnish("--budget=0.3s"), *words], cwd=builds.folder, check=True, timeout=300)
    records = {record.source: record for record in build_log.read(builds.log)}
    return {source: records[source] for source in SOURCES}


def remembered(builds: Builds) -> dict[str, Remembered]:
    items = ObjectMemory(builds.memory).compilations(builds.folder)
    assert len(items) == len(SOURCES)
    return {item.compilation.source: item for item in items}


@pytest.mark.parametrize("what", COMMANDS)
def test_each_object_is_recalled_and_improved(builds: Builds, what: str) -> None:
    words = COMMANDS[what]
    if words[0] == "gcc" and not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    first, again = built(builds, words), built(builds, words)
    before = remembered(builds)
    for source in SOURCES:
        assert not first[source].recalled and again[source].recalled
        assert again[source].loaded_bytes == first[source].loaded_bytes == before[source].cost
    found = step(before["table.c"], builds.memory, 0.3, 1)
    assert not found.reason and found.after.cost <= found.before.cost
    # the memory has the same compilations as before
    assert remembered(builds) == before | {"table.c": found.after}
    last = built(builds, words)
    assert last["table.c"].recalled and last["table.c"].loaded_bytes == found.after.cost
    assert last["matrix.c"].recalled and last["matrix.c"].loaded_bytes == again["matrix.c"].loaded_bytes


def test_a_program_has_the_objects_that_are_remembered(builds: Builds) -> None:
    built(builds, COMMANDS["a program"])
    after = step(remembered(builds)["table.c"], builds.memory, 0.4, 1).after
    built(builds, COMMANDS["a program"])
    known = ObjectMemory(builds.memory).unchanged(after.key)
    assert known and known[0].content
    of_object = sizes_of_functions(known[0].content)
    assert of_object.items() <= sizes_of_functions((builds.folder / "program").read_bytes()).items()
    assert subprocess.run([builds.folder / "program"], check=False).returncode == 7


def sizes_of_functions(elf: bytes) -> dict[str, int]:
    return {one.name: one.size for one in _native.elf_symbols(elf) if one.is_defined and one.type == FUNCTION}
