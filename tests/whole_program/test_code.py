"""The code of a whole program's functions is decided behind its passes."""

from __future__ import annotations

import shutil
from dataclasses import replace

from burnish.driver.machine_code import BEGIN
from tests.sources import DATA
from tests.whole_program.conftest import Builds

SEARCHED = ("--code-generation", "searched", "--budget", "80 evaluations", "--speed-limit", "none")


def test_functions_are_generated_otherwise_where_that_is_smaller(builds: Builds) -> None:
    shutil.copy(DATA / "behave.c", builds.folder)
    objects = builds.objects("behave.c", "twice.c")
    alone = builds.link("alone", *objects)
    linked = replace(builds, optimizer="fail", options=SEARCHED).link("program", *objects)
    assert BEGIN not in alone["trace"]
    assert BEGIN in linked["trace"]
    assert linked["loaded_bytes"] < linked["loaded_bytes_before"]
    for words in ("work 1000", "7"):
        assert builds.run("./program", *words.split()) == builds.run("./program.clang", *words.split())
