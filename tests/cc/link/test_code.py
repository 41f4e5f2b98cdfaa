"""The code of a whole program's functions is decided behind its passes."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from burnish.cc.back_end import emit
from burnish.cc.file_budget import FileBudget
from burnish.cc.isolation import Guard
from burnish.cc.link.function_variants import by_level
from burnish.cc.link.program_trials import ProgramTrials
from burnish.cc.prior_variants import variants_of
from burnish.cc.repeating import BEGIN
from burnish.cc.requests import Attempt, Emitted, KeptReference, LeftToClang, Request
from burnish.cc.short_search import OUTLINER
from burnish.cc.trials import Trials
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.modules.session import open_session
from tests.cc.link.conftest import Builds, C
from tests.cc.test_back_end import job_of
from tests.core.test_clock import CountedClock
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


@pytest.mark.parametrize("sources", [("behave.c", "twice.c"), ("behave.c", *C[1:])], ids=["two", "four"])
def test_variants_of_functions_are_all_that_a_short_time_is_for(
    builds: Builds, sources: tuple[str, ...]
) -> None:
    """Of four units, one shows that clang's back end need not make the first object of the module."""
    shutil.copy(DATA / "behave.c", builds.folder)
    short = replace(builds, optimizer="fail", options=(*SEARCHED[:2], "--budget", "0.25s"))
    linked = short.link("program", *short.objects(*sources))
    assert linked["action"] == "optimized", linked["reason"]
    assert linked["loaded_bytes"] < linked["loaded_bytes_before"]
    actions = {text.rpartition(": ")[2] for text in linked["trace"]}
    assert BEGIN in actions
    assert actions.difference(["clang<Oz>", BEGIN]).issubset(
        text for trace in variants_of("X86").of_functions for text in (*trace, OUTLINER)
    )
    assert any(actions >= {*trace} for trace in variants_of("X86").of_functions)
    for words in ("work 1000", "7"):
        assert builds.run("./program", *words.split()) == builds.run("./program.clang", *words.split())


@pytest.mark.parametrize(
    ("is_first", "left", "tried"), [(True, 1.9, True), (False, 1.9, False), (False, 2.1, True)]
)
def test_a_short_time_for_shared_units_is_for_the_level_alone(
    monkeypatch: pytest.MonkeyPatch, is_first: bool, left: float, tried: bool
) -> None:
    """A variant and the joined object take as long as two compilations of the module."""
    request = Request("program", "Oz", until=left, clock=CountedClock())
    begun: list[Request] = []
    trials: Any = ProgramTrials.__new__(ProgramTrials)
    trials.level_seconds = 1.0
    trials.merged = SimpleNamespace(is_first=is_first, clang_seconds=1.0)
    trials.build = SimpleNamespace(budget=lambda _: nullcontext(FileBudget(multiple=3.7)))
    monkeypatch.setattr(ProgramTrials, "request", lambda *_: request)

    def tried_variants(_: object, request: Request) -> bool:
        begun.append(request)
        return True

    monkeypatch.setattr(ProgramTrials, "try_variants", tried_variants)
    trials.search(None)
    assert begun == [request] * tried


@pytest.mark.parametrize(("why", "tried"), [(LeftToClang, False), (KeptReference, True)])
def test_attributes_are_tried_where_clang_makes_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: type[KeptReference], tried: bool
) -> None:
    """A search of variants that is left to clang does not count as one, however little time is left."""
    trials = ProgramTrials.__new__(ProgramTrials)
    trials.module, trials.command, trials.level_bitcode = b"", (), None
    trials.own, trials.level, trials.level_seconds, trials.reasons = b"", Attempt(b"", (), 0), 1.0, []
    trials.guard = Guard(tmp_path, 1.0, 1.0)

    def searched(_: object) -> Attempt:
        raise why("for this test")

    monkeypatch.setattr(trials, "_searched", searched)
    request = Request("program", "Oz")
    assert trials.try_variants(replace(request, until=request.clock.now() + 2)) is tried
    assert not trials.try_variants(request)  # without a limit on time


@pytest.mark.parametrize(("processes", "until"), [(1, 108.5), (3, 122.5)])
def test_processes_make_variants_in_the_time_of_one(
    monkeypatch: pytest.MonkeyPatch, processes: int, until: float
) -> None:
    """Of 10 seconds, two joined objects take 3, and the other 7 are those of each process.

    The search keeps the time of the joined object itself: the second one is left out here.
    """
    asked: list[Request] = []
    monkeypatch.setattr(Trials, "try_variants", lambda _, request: asked.append(request))
    trials = ProgramTrials.__new__(ProgramTrials)
    trials.own, trials.level_seconds = b"", 2.0
    trials.level = Attempt(b"", (), 0, emitted=Emitted(b"", CallCosts({}, frozenset(), {}, {}), 1.5))
    request = Request("program", "Oz", until=110.0, code_share=0.3, processes=processes)
    trials.try_variants(replace(request, clock=CountedClock(100.0)))
    assert [one.until for one in asked] == [pytest.approx(until)]


def test_the_expected_run_time_of_the_levels_passes_is_known_from_them(tmp_path: Path) -> None:
    matrix = program("matrix.c")
    job = job_of(DATA / "matrix.c", "-Oz", tmp_path)
    known, unknown = (by_level(matrix.content, "matrix.c", "Oz", asked) for asked in (job, None))
    assert known.calls == open_session(matrix).reference_calls()
    assert known.emitted and known.emitted.code == emit(known.bitcode, job)
    assert unknown.calls is None and unknown.emitted is None
