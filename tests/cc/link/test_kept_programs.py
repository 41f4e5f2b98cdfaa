"""A program that an earlier build made smaller is there in the next one, if no unit has changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.improving_step import step
from burnish.cc.kept import ObjectMemory
from tests.cc.link.conftest import FLAGS, Builds, C


def linked(builds: Builds, output: str = "program", *options: str) -> Record:
    """Link the objects of C, and return the line of the log."""
    objects = [source.replace(".c", ".o") for source in C]
    builds.cc("-Oz", *objects, "-o", output, "-Wl,--gc-sections", *options)
    return build_log.read(builds.log)[-1]


@pytest.fixture
def remembering(builds: Builds, compiled: Path) -> Builds:
    """Builds with a memory, and the objects of C."""
    builds.objects(*C)
    builds.options = ("--remember", str(builds.folder / "memory"), "--budget", "1s")
    return builds


def test_an_unchanged_program_is_not_searched_again(remembering: Builds) -> None:
    builds = remembering
    first = linked(builds)
    made = (builds.folder / "program").read_bytes()
    assert first.action == "optimized" and not first.recalled
    again = linked(builds, "other")
    assert again.recalled and not again.evaluations
    assert (again.loaded_bytes, again.trace) == (first.loaded_bytes, first.trace)
    assert (builds.folder / "other").read_bytes() == made
    builds.run("./other")


def test_a_program_with_a_map_is_made_again_without_a_search(remembering: Builds) -> None:
    """The map must be of the program that stays; firmware is linked with one."""
    builds = remembering
    first = linked(builds, "program", "-Wl,-Map=program.map")
    files = [builds.folder / "program", builds.folder / "program.map"]

    def contents() -> list[bytes]:
        return [
            re.sub(rb"/\S+", b"", path.read_bytes()) for path in files
        ]  # temporary folders have other names

    made = contents()
    for path in files:
        path.unlink()
    assert first.action == "optimized" and first.evaluations and not first.recalled
    again = linked(builds, "program", "-Wl,-Map=program.map")
    assert again.recalled and not again.evaluations
    assert again.trace == first.trace
    assert contents() == made


def test_a_program_with_a_changed_unit_is_linked_anew(remembering: Builds) -> None:
    builds = remembering
    linked(builds)
    source = builds.folder / "sums.c"
    source.write_text(source.read_text() + "\nint unused_by_others(int x) { return x + 3; }\n")
    builds.cc(*FLAGS, "-c", "sums.c")
    again = linked(builds)
    assert again.action == "optimized" and not again.recalled


def test_improve_goes_on_with_a_program(remembering: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    builds = remembering
    builds.options = (*builds.options[:2], "--budget", "remembered")  # no search but a stand-in
    first = linked(builds)
    memory = ObjectMemory(builds.folder / "memory")
    (before,) = memory.compilations(builds.folder)
    assert (before.compilation.source, before.cost) == ("program", first.loaded_bytes)
    monkeypatch.chdir(builds.folder)
    found = step(before, memory.path, 1.5, 1)
    assert not found.reason and memory.compilations(builds.folder) == [found.after]
    assert found.after.effort == before.effort + 1.5 and found.saved_bytes > 0
    again = linked(builds)
    assert again.recalled and again.loaded_bytes == found.after.cost == builds.loaded("program")
    builds.run("./program")
    (builds.folder / "sums.o").unlink()
    assert step(found.after, memory.path, 1.5, 2).reason.startswith("a file that it reads was changed")
