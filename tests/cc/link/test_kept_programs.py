"""A program that an earlier build made smaller is there in the next one, if no unit has changed."""

from __future__ import annotations

from burnish.cc import build_log
from burnish.cc.build_log import Record
from tests.cc.link.conftest import FLAGS, Builds, C


def linked(builds: Builds, output: str = "program") -> Record:
    """Link the objects of C, and return the line of the log."""
    objects = [source.replace(".c", ".o") for source in C]
    builds.cc("-Oz", *objects, "-o", output, "-Wl,--gc-sections")
    return build_log.read(builds.log)[-1]


def test_an_unchanged_program_is_not_searched_again(builds: Builds) -> None:
    builds.options = ("--remember", str(builds.folder / "memory"), "--budget", "2s")
    builds.cc(*FLAGS, "-c", *C)
    first = linked(builds)
    made = (builds.folder / "program").read_bytes()
    assert first.action == "optimized" and not first.recalled
    again = linked(builds, "other")
    assert again.recalled and not again.evaluations
    assert (again.loaded_bytes, again.trace) == (first.loaded_bytes, first.trace)
    assert (builds.folder / "other").read_bytes() == made
    builds.run("./other")


def test_a_program_with_a_changed_unit_is_linked_anew(builds: Builds) -> None:
    builds.options = ("--remember", str(builds.folder / "memory"), "--budget", "2s")
    builds.cc(*FLAGS, "-c", *C)
    linked(builds)
    source = builds.folder / "sums.c"
    source.write_text(source.read_text() + "\nint unused_by_others(int x) { return x + 3; }\n")
    builds.cc(*FLAGS, "-c", *C)
    again = linked(builds)
    assert again.action == "optimized" and not again.recalled
