"""What burnish may take for a file, and for a build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest

from burnish.cc import build_log, optimizer, shares
from burnish.cc.commands.launch import find_launcher
from burnish.cc.file_budget import FileBudget
from burnish.cc.repeating import BEGIN
from burnish.cc.requests import DriverOptions, KeptReference
from burnish.cc.shares import BuildShare
from burnish.core.clock import PROCESSORS
from burnish.core.errors import CompilerCrash
from burnish.llvm.toolchain import compile_to_bitcode
from burnish.workers.worker import Limits, Worker
from tests.cc.requests import asking, request_of
from tests.core.test_clock import CountedClock
from tests.sources import DATA, program

REQUEST = request_of("m.c", objective="ir-instructions", policy="none")
REMEMBERED = FileBudget(remembered=True)


def test_a_multiple_counts_from_when_clang_had_ended() -> None:
    """All that burnish takes is counted: what came before the search, and code generation after it."""
    until = FileBudget(multiple=4).until(2.0, 100.0)
    assert until is not None
    assert 100 + 2 < until < 100 + 4 * 2
    assert FileBudget(multiple=4).until(20.0, 100.0) == pytest.approx(100 + 10 * (until - 100))
    assert FileBudget(seconds=2).until(2.0, 100.0) is None


def at_speed(clock: Callable[[], float], speed: float) -> Callable[[], float]:
    start = clock()
    return lambda: start + speed * (clock() - start)


def test_evaluations_give_the_same_on_a_slow_machine_and_on_a_fast_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By clocks that run a thousand times as fast, and as slowly."""
    asked = asking(REQUEST, objective="text-bytes", policy="shipped")
    request = replace(asked, evaluations=24, patience=500)
    bitcode = program("hash_table.c").content
    found = optimizer.optimize(bitcode, request)
    assert found.evaluations == 24
    clocks = {name: getattr(time, name) for name in ("monotonic", "perf_counter")}
    for speed in (1000.0, 0.001):
        for name, clock in clocks.items():
            monkeypatch.setattr(time, name, at_speed(clock, speed))
        assert optimizer.optimize(bitcode, request) == found
        monkeypatch.undo()


def test_a_search_ends_when_nothing_is_left_to_gain() -> None:
    request = replace(REQUEST, evaluations=100_000)
    bitcode = program("machine.c").content
    few, more = (optimizer.optimize(bitcode, replace(request, patience=patience)) for patience in (40, 80))
    assert 40 <= few.evaluations < more.evaluations < 2000


def test_remembered_is_no_search(tmp_path: Path) -> None:
    request = asking(REQUEST, memory=tmp_path / "memory")
    bitcode = program("machine.c").content
    first = optimizer.optimize(bitcode, replace(request, evaluations=60))
    again = optimizer.optimize(bitcode, asking(request, budget=REMEMBERED))
    assert (again.bitcode, again.trace) == (first.bitcode, first.trace)
    assert again.evaluations == 0
    with pytest.raises(KeptReference, match="no remembered result makes it smaller") as nothing:
        optimizer.optimize(program("matrix.c").content, asking(request, budget=REMEMBERED))
    assert nothing.value.evaluations == 0


def test_remembered_code_is_applied(tmp_path: Path) -> None:
    """Of passes and of code generation, in a whole compilation: nothing is evaluated again."""
    log, memory = tmp_path / "log", tmp_path / "memory"
    command = [find_launcher("burnish-cc"), "--alone", "--report", str(log), "--remember", str(memory)]
    for budget in ("40evaluations", "remembered"):
        line = [*command, f"--budget={budget}", "-Oz", "-c", str(DATA / "hash_table.c"), "-o", budget]
        subprocess.run(line, check=True, cwd=tmp_path, timeout=300)
    first, again = build_log.read(log)
    assert BEGIN in first.trace
    assert (again.trace, again.evaluations) == (first.trace, 0)
    assert (tmp_path / "remembered").read_bytes() == (tmp_path / "40evaluations").read_bytes()


def test_what_a_program_that_is_alike_has_is_tried(tmp_path: Path) -> None:
    request = asking(REQUEST, memory=tmp_path / "memory")
    text = (DATA / "machine.c").read_text()
    (tmp_path / "machine.c").write_text(text + "\nint more(int x) { return x * 3; }\n")
    optimizer.optimize(program("machine.c").content, replace(request, evaluations=60))
    changed = compile_to_bitcode(tmp_path / "machine.c", level="Oz")
    found = optimizer.optimize(changed, asking(request, budget=REMEMBERED))
    assert 1 <= found.evaluations <= 3


def test_a_forked_worker_is_a_worker() -> None:
    worker = Worker(Limits(begin="fork"))
    assert worker.call(os.getppid) == os.getpid()
    with pytest.raises(CompilerCrash, match="exit code 3"):
        worker.call(os._exit, 3)
    assert worker.call(partial(pow, 2), 5) == 32
    worker.close()


def test_shares_go_by_clangs_time_and_never_beyond_the_budget() -> None:
    known = BuildShare("b", 90.0, 90.0, last=30.0)
    parts = [known.share(clang) for clang in (1.0, 2.0, 7.0, 5.0, 15.0)]
    assert parts == pytest.approx([3.0, 6.0, 21.0, 15.0, 45.0])
    assert known.left == pytest.approx(0.0)
    first = BuildShare("b", 60.0, 60.0)
    parts = [first.share(1.0) for _ in range(200)]
    assert sum(parts) <= 60.0
    assert all(part >= 2.0 for part in parts[:10])
    assert set(parts[-100:]) == {0.0}


@pytest.mark.parametrize("seconds", [10.0, 30.0, 60.0, 200.0])
def test_a_second_build_gives_no_fewer_files_enough_to_find_something(seconds: float) -> None:
    """Of 40 files, small and large, for which clang takes 20 s: a part of each is nothing to any."""
    clang = [0.1, 0.3, 0.6, 1.0] * 10
    first = BuildShare("1", seconds, seconds)
    searched = [sum(first.share(one) >= 2 * one for one in clang)]
    second = BuildShare("2", seconds, seconds, last=first.done)
    parts = [second.share(one) for one in clang]
    searched.append(sum(part >= 2 * one for part, one in zip(parts, clang, strict=True)))
    assert searched[1] >= searched[0] > 0
    assert sum(parts) <= seconds + 1e-9
    if seconds >= 2 * sum(clang):
        assert parts == pytest.approx([seconds * one / sum(clang) for one in clang])


def test_builds_elsewhere_say_nothing_of_one() -> None:
    """One log is for all projects of a user: another one's size is not this one's."""
    text = ""
    for number, (place, files) in enumerate([("small", 2), ("large", 50), ("small", 0)]):
        state = shares.read_state(text, shares.BuildOrigin(str(number), place), 100.0)
        for _ in range(files):
            state.share(1.0)
        text = json.dumps(asdict(state))
    assert (state.last, state.largest) == (2.0, {"small": 2.0, "large": 50.0})


def test_a_share_is_spent_by_the_clock(tmp_path: Path) -> None:
    clock = CountedClock()
    options = DriverOptions(build_seconds=10.0, log=tmp_path / "log")
    with shares.share(options, 1.0, clock) as seconds:
        clock.seconds += 0.25
    state = BuildShare(**json.loads((tmp_path / "log.budget").read_text()))
    assert seconds == pytest.approx(2.0)
    assert state.left == pytest.approx(10.0 - 0.25)


def announce(log: Path, seconds: float) -> float:
    with shares.share(DriverOptions(build_seconds=10.0, log=log), seconds, PROCESSORS) as share:
        return share


def test_what_is_not_used_goes_back_and_no_compiler_disturbs_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ProcessPoolExecutor(8) as pool:
        given = list(pool.map(announce, [log] * 100, [0.1] * 100))
    state = BuildShare(**json.loads((tmp_path / "log.budget").read_text()))
    assert state.done == pytest.approx(10.0)
    assert all(given)
    assert 0 <= 10.0 - state.left < 0.5 * sum(given)


def test_the_next_build_has_the_whole_budget_again(tmp_path: Path) -> None:
    """A build is what one command of a shell starts, however deep."""
    log = tmp_path / "log"
    code = (
        "import sys; from pathlib import Path; from burnish.cc import shares; "
        "from burnish.core.clock import PROCESSORS; from burnish.cc.requests import DriverOptions\n"
        "with shares.share(DriverOptions(build_seconds=10.0, log=Path(sys.argv[1])), 1.0, PROCESSORS): pass"
    )
    one = f"{sys.executable} -c '{code}' {log}"
    left = []
    for command in ('sh -c "$ONE; sh -c \\"$ONE\\""; true', 'sh -c "$ONE"; true'):
        subprocess.run(["setsid", "sh", "-c", command], check=True, env=os.environ | {"ONE": one}, timeout=60)
        state = BuildShare(**json.loads((tmp_path / "log.budget").read_text()))
        left.append((state.done, state.last))
    assert left == [(2.0, 0.0), (1.0, 2.0)]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("2.4x", 0.0),
        ("2.5x", 0.15),
        ("3.2x", 0.15),
        ("7.9x", 0.15),
        ("8x", 0.6),
        ("64x", 0.6),
        ("0.5s", 0.15),
        ("3s", 0.15),
        ("4s", 0.6),
        ("32s", 0.6),
        ("29 evaluations", 0.0),
        ("30 evaluations", 0.6),
        ("remembered", 0.6),
    ],
)
def test_the_share_of_code_generation(text: str, share: float) -> None:
    budget = FileBudget.parse(text)
    assert budget.code_share(0.5) == pytest.approx(share)
    assert budget.is_short(0.5) == (share == 0.15)
