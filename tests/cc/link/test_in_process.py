"""The commands of a build in this process: all that is not done in a guarded one."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NoReturn

import pytest

from burnish.cc import processes
from burnish.cc.commands import cc
from burnish.cc.link import steps
from burnish.cc.link.merging import Merged
from burnish.cc.link.program_trials import ProgramTrials
from burnish.cc.link.units import read_unit
from burnish.cc.outcomes import Sizes
from tests.cc.link.conftest import FLAGS, Builds, C
from tests.cc.optimizers import shrink


def test_units_are_compiled_and_linked_as_one(builds: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(command: list[str]) -> NoReturn:
        raise AssertionError(f"this process would become {command}")

    def burnish_cc(*words: str) -> None:
        own = ["--whole-program", "--code-generation=clang", "--budget=9evaluations"]
        assert cc.main(["--report", str(builds.log), *own, *words], cxx=False, optimizer=shrink) == 0

    monkeypatch.setattr(processes, "replace_by", never)
    objects = [source.replace(".c", ".o") for source in C]
    with contextlib.chdir(builds.folder):
        burnish_cc(*FLAGS, "-c", *C)
        burnish_cc(*objects, "-Wl,--gc-sections", "-o", "program")
    builds.clang(*objects, "-Wl,--gc-sections", "-o", "program.clang")
    last = builds.records()[-1]
    assert (last["action"], last["source"]) == ("optimized", "4 units")
    assert last["loaded_bytes"] == builds.loaded("program") < builds.loaded("program.clang")
    assert builds.run("./program", "7") == builds.run("./program.clang", "7").replace(".clang", "")


def test_the_time_of_a_unit_is_divided_among_programs(
    builds: Builds, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second program that has the units of the first one, and another unit, gets half of their time."""
    counted: list[float] = []

    class Counted(ProgramTrials):
        def __init__(self, merged: Merged, before: Sizes) -> None:
            counted.append(merged.clang_seconds)
            super().__init__(merged, before)

    def link(output: str, *objects: str) -> None:
        own = ["--whole-program", "--code-generation=clang", "--budget=1s", "--report", str(builds.log)]
        words = [*own, "--remember", str(builds.folder / "memory"), *objects, "-o", output]
        assert cc.main(words, cxx=False, optimizer=shrink) == 0

    monkeypatch.setattr(steps, "ProgramTrials", Counted)
    objects = builds.objects(*C)
    (builds.folder / "more.c").write_text("int more(int x) { return x + 3; }\n")
    builds.cc(*FLAGS, "-c", "more.c")
    embedded = read_unit((builds.folder / "more.o").read_bytes())
    assert embedded
    with contextlib.chdir(builds.folder):
        for output in ("program", "program", "other"):
            link(output, *objects, *(["more.o"] if output == "other" else []))
    assert counted == [counted[0], pytest.approx(counted[0] / 2 + embedded.unit.seconds)]
