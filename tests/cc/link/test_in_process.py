"""The commands of a build in this process: all that is not done in a guarded one."""

from __future__ import annotations

import contextlib
from typing import NoReturn

import pytest

from burnish.cc import processes
from burnish.cc.commands import cc
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
