"""The code of a whole program's functions is decided behind its passes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from burnish.cc.improve import limits
from burnish.cc.link.module_candidates import ProgramModule, by_level
from burnish.cc.machine_code import BEGIN
from burnish.cc.requests import OptimizeRequest
from burnish.llvm.modules.session import open_session
from tests.cc.link.conftest import Builds
from tests.sources import DATA, program

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


def test_the_expected_run_time_of_the_levels_passes_is_known_from_them(tmp_path: Path) -> None:
    matrix = program("matrix.c")
    module = ProgramModule(matrix.content, limits(1, 1), tmp_path)
    request = OptimizeRequest("matrix.c", "loaded-bytes", "Oz", None, 0, None, speed_limit=1.05)
    assert by_level(module, request).run_time == open_session(matrix).reference_run_time()
    assert by_level(module, replace(request, code_share=0.0)).run_time == {}
