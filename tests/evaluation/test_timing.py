"""What is called faster is faster; what is noise is not. All by simulated clocks."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import InputError, Miscompiled
from burnish.core.program import Run, Workload
from burnish.evaluation import timing
from burnish.evaluation.timing import (
    FASTER,
    IDENTICAL,
    NO_DIFFERENCE,
    SLOWER,
    Comparer,
    Effort,
    compare_rounds,
    compare_times,
)
from burnish.llvm.toolchain import bitcode_to_object
from tests.llvm.run.programs import built, run
from tests.sources import program

TWO = Workload((Run("small"), Run("large")))
QUICK = Effort(repeats=6, confidence=0.9)


def rounds(*seconds: float) -> list[list[float]]:
    """Return times of one input."""
    return [[value] for value in seconds]


def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return two "executables" that say who they are."""
    for name in ("slow", "quick"):
        (tmp_path / name).write_text(name)
    return tmp_path / "slow", tmp_path / "quick"


def test_twice_as_fast_by_hand() -> None:
    seen = compare_rounds(
        rounds(2, 4, 6, 8, 10, 12), rounds(2, 4, 6, 8, 10, 12), rounds(1, 2, 3, 4, 5, 6), 0.95
    )
    assert (seen.ratio, seen.low, seen.high, seen.noise) == pytest.approx((2, 2, 2, 1))
    assert (seen.verdict, seen.repeats, seen.least, seen.median) == (FASTER, 6, (2, 1), (7, 3.5))


def test_interval_of_ratios_by_hand() -> None:
    """Six pairs at 95 %: from the least of the ratios to the largest."""
    seen = compare_rounds(rounds(*[10] * 6), rounds(*[10] * 6), rounds(8, 8, 8, 10, 12.5, 8), 0.95)
    assert (seen.low, seen.high) == pytest.approx((0.8, 1.25))
    assert seen.verdict == NO_DIFFERENCE
    worse = compare_rounds(rounds(*[10] * 6), rounds(*[10] * 6), rounds(20, 11, 12, 13, 14, 15), 0.95)
    assert (worse.low, worse.high) == pytest.approx((1 / 2, 10 / 11))
    assert worse.verdict == SLOWER


def test_difference_within_that_of_the_baseline_to_itself_is_noise() -> None:
    baseline, candidate = rounds(*[1.05] * 6), rounds(*[1.0] * 6)
    assert compare_rounds(baseline, baseline, candidate, 0.95).verdict == FASTER
    for same in (1.06 * 1.05, 1.05 / 1.06):
        seen = compare_rounds(baseline, rounds(*[same] * 6), candidate, 0.95)
        assert (seen.verdict, seen.noise) == (NO_DIFFERENCE, pytest.approx(1.06))


def test_least_is_the_sum_over_the_inputs() -> None:
    times = [[1.0, 10.0], [2.0, 9.0]] * 3
    seen = compare_rounds(times, [[3.0, 8.0]] * 6, times, 0.95)
    assert (seen.least, seen.median) == ((9, 10), (11, 11))


def test_too_few_rounds_are_told() -> None:
    with pytest.raises(InputError, match="at least 6"):
        compare_rounds(rounds(*[1] * 5), rounds(*[1] * 5), rounds(*[1] * 5), 0.95)


def test_rounds_are_interleaved_and_each_is_whole(tmp_path: Path) -> None:
    slow, quick = files(tmp_path)
    calls: list[tuple[str, str]] = []

    def clock(executable: Path, run: Run) -> float:
        calls.append((run.name, executable.read_text()))
        return {"slow": 2.0, "quick": 1.0}[executable.read_text()]

    seen = compare_times(slow, quick, TWO, effort=QUICK, clock=clock)
    assert (seen.ratio, seen.verdict, seen.repeats) == (pytest.approx(2), FASTER, 6)
    assert len(calls) == (1 + 6) * 2 * 6  # a round to warm up; there and back
    for start in range(0, len(calls), 6):
        names, programs = zip(*calls[start : start + 6], strict=True)
        assert len(set(names)) == 1
        assert sorted(programs[:3]) == ["quick", "slow", "slow"]
        assert programs[:3] == programs[:2:-1]
    orders = {tuple(name for _, name in calls[i : i + 3]) for i in range(0, len(calls), 6)}
    assert len(orders) == 3
    again = list(calls)
    calls.clear()
    compare_times(slow, quick, TWO, effort=QUICK, clock=clock)
    assert calls == again  # the order is the seed's


def test_first_round_does_not_count(tmp_path: Path) -> None:
    slow, quick = files(tmp_path)
    left = {"slow": 4, "quick": 2}  # the first calls of each are cold

    def clock(executable: Path, _: Run) -> float:
        name = executable.read_text()
        left[name] -= 1
        return 100.0 if left[name] >= 0 else 1.0

    seen = compare_times(slow, quick, Workload((Run("only"),)), effort=QUICK, clock=clock)
    assert (seen.low, seen.high) == (1, 1)


def test_drift_is_not_taken_for_a_difference(tmp_path: Path) -> None:
    """A machine that slows down by half a percent with every run."""
    slow, quick = files(tmp_path)
    count = 0

    def clock(*_: object) -> float:
        nonlocal count
        count += 1
        return 1.005**count

    assert compare_times(slow, quick, TWO, clock=clock).verdict == NO_DIFFERENCE


@pytest.mark.parametrize(("gain", "verdict"), [(1.05, FASTER), (0.95, SLOWER)])
def test_small_gains_are_found_in_noise(tmp_path: Path, gain: float, verdict: str) -> None:
    slow, quick = files(tmp_path)
    rng = np.random.default_rng(3)

    def clock(executable: Path, _: Run) -> float:
        seconds = 1.0 if executable.read_text() == "slow" else 1 / gain
        spike = 1.5 if rng.random() < 0.1 else 1.0  # something else ran
        return seconds * spike * math.exp(0.01 * rng.normal())

    seen = compare_times(slow, quick, TWO, clock=clock)
    assert (seen.verdict, seen.low <= gain <= seen.high) == (verdict, True)


@pytest.mark.parametrize("spikes", [0.0, 0.2])
def test_noise_is_called_a_gain_no_oftener_than_stated(spikes: float) -> None:
    rng = np.random.default_rng(4)

    def times() -> list[list[float]]:
        noise = np.exp(0.03 * rng.normal(size=(20, 2)))
        seconds: list[list[float]] = (noise * np.where(rng.random((20, 2)) < spikes, 1.5, 1.0)).tolist()
        return seconds

    verdicts = [compare_rounds(times(), times(), times(), 0.95).verdict for _ in range(1000)]
    wrong = sum(verdict != NO_DIFFERENCE for verdict in verdicts)
    assert wrong <= 50  # the interval alone would be wrong in 50


def test_an_emulators_count_is_exact_after_one_run(tmp_path: Path) -> None:
    slow, quick = files(tmp_path)
    ran: list[str] = []

    def count(path: Path, run: Run) -> float:
        ran.append(f"{path.name} {run.name}")
        return {"small": 2.0, "large": 6.0}[run.name] * (2 if path == slow else 1)

    emulated = replace(TWO, emulator=("qemu",))
    seen = compare_times(slow, quick, emulated, what="instructions", effort=QUICK, clock=count)
    assert ran == ["slow small", "slow large", "quick small", "quick large"]
    assert (seen.ratio, seen.low, seen.high, seen.noise) == pytest.approx((2, 2, 2, 1))
    assert (seen.verdict, seen.repeats, seen.least, seen.median) == (FASTER, 1, (16, 8), (16, 8))
    worse = compare_times(quick, slow, emulated, what="instructions", effort=QUICK, clock=count)
    assert (worse.ratio, worse.verdict) == (pytest.approx(0.5), SLOWER)
    same = compare_times(quick, quick, emulated, what="instructions", effort=QUICK, clock=count)
    assert (same.ratio, same.verdict) == (1.0, NO_DIFFERENCE)


def test_identical_objects_are_not_run() -> None:
    seen = Comparer().compare(b"same", b"same", TWO)
    assert (seen.verdict, seen.ratio, seen.repeats) == (IDENTICAL, 1, 0)


def test_same_objects_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counted(*paths: object, **_: object) -> int:
        calls.append(paths)
        return len(calls)

    monkeypatch.setattr(timing, "link", lambda content, *_: content)
    monkeypatch.setattr(timing, "compare_times", counted)
    comparer = Comparer()
    assert [comparer.compare(b"a", b"b", TWO) for _ in range(2)] == [1, 1]
    assert comparer.compare(b"b", b"a", TWO) == 2
    assert comparer.compare(b"a", b"b", Workload((Run("other"),))) == 3


def test_real_programs_of_known_work() -> None:
    """behave does as much as it is told; the same executable serves as both, with other inputs."""
    executable = built()
    workload = Workload((run("work", "20000000"),))

    def clock(path: Path, asked: Run) -> float:
        half = run("work", "10000000")
        return timing.run_clock(workload, "seconds")(path, half if path.name == "2" else asked)

    seen = compare_times(executable, executable, workload, effort=QUICK, clock=clock)
    assert seen.verdict == FASTER
    assert 1.3 < seen.ratio < 3


@pytest.mark.usefixtures("nothing_left")
def test_failing_run_is_no_time() -> None:
    thing = bitcode_to_object(program("behave.c").content, level="O1")
    other = bitcode_to_object(program("behave.c").content, level="O0")
    with pytest.raises(Miscompiled, match="input 'complain': signal SIGABRT"):
        Comparer(QUICK).compare(thing, other, Workload((run("complain"),)))
