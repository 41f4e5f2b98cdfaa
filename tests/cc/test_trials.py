"""Passes first, then code: each search in a process of its own, and what fails ends no more than itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.cc.isolation import Guard
from burnish.cc.requests import Attempt, KeptReference, Optimizer, Request
from burnish.cc.trials import Trials
from tests.cc.requests import request_of

REQUEST = request_of("a.c")


class Kept(Trials):
    """Trials that keep every attempt with an even number of evaluations."""

    def take(self, attempt: Attempt) -> None:
        if attempt.evaluations % 2:
            raise KeptReference("it is odd")
        self.best = attempt

    def generated(self) -> tuple[Attempt, bytes]:
        if not self.best:
            raise KeptReference("no module")
        return self.best, b"object"


def kept(folder: Path, optimizer: Optimizer) -> Kept:
    return Kept(b"module", ("clang", "-cc1", "-mllvm", "-x"), optimizer, Guard(folder, 30.0, 30.0))


@pytest.mark.parametrize(("evaluations", "reasons"), [(4, []), (3, ["it is odd"])])
def test_a_search_is_counted_whatever_becomes_of_it(
    tmp_path: Path, evaluations: int, reasons: list[str]
) -> None:
    found = Attempt(b"better", ("pass",), evaluations, crashes=1)
    trials = kept(tmp_path, lambda _bitcode, _request: found)
    trials.try_passes(REQUEST)
    assert trials.best == (None if reasons else found)
    assert (trials.evaluations, trials.crashes, trials.reasons) == (evaluations, 1, reasons)


def test_reasons_of_both_searches_are_kept(tmp_path: Path) -> None:
    def fail(_bitcode: bytes, _request: Request) -> Attempt:
        raise KeptReference("nothing smaller was found", 7, 3)

    trials = kept(tmp_path, fail)
    trials.try_passes(REQUEST)
    trials.try_code(REQUEST)
    assert trials.reasons == ["nothing smaller was found", "no module"]
    assert (trials.evaluations, trials.crashes, trials.best) == (7, 3, None)


def test_passes_stay_where_code_is_left_to_clang(tmp_path: Path) -> None:
    trials = kept(tmp_path, lambda _bitcode, _request: Attempt(b"better", ("pass",), 2))
    trials.try_passes(REQUEST)
    trials.try_code(REQUEST)
    assert trials.best and trials.best.bitcode == b"better"
    (why,) = trials.reasons
    assert why.startswith("code generation is left to clang")


def test_an_optimizer_returns_an_attempt(tmp_path: Path) -> None:
    trials = kept(tmp_path, lambda _bitcode, _request: None)  # type: ignore[arg-type, return-value]
    trials.try_passes(REQUEST)
    assert trials.reasons == [
        "the optimizer failed: TypeError: expected Attempt from the optimizer, got NoneType"
    ]
