"""The benchmark of few candidates beside many."""

from __future__ import annotations

import math
import re
import sys
from contextlib import closing

import pytest

pytest.importorskip("torch_mlir")

import schedule_candidates

from burnish.core.errors import CompilerCrash
from burnish.tasks.mlir_schedules.programs import MlirSource
from burnish.workers.worker import Worker


def test_few_candidates_are_compared_with_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["benchmark", "--programs", "matmul:6x16x7", "--count", "1", "--few", "2", "--many", "4"]
    monkeypatch.setattr(sys, "argv", words)
    schedule_candidates.main()
    line, mean = capsys.readouterr().out.splitlines()
    found = re.fullmatch(r"matmul:6x16x7 +shipped (\S+)  of 4 candidates, \S+ us", line)
    assert found and float(found[1]) > 0
    assert mean == f"shipped: {found[1]} in the geometric mean of 1 programs"


def test_candidates_that_fail_take_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> float:
        raise CompilerCrash("it gave up")

    program = MlirSource().load("add:6x16").program
    with closing(Worker()) as worker:
        monkeypatch.setattr(worker, "call", crash)
        found = schedule_candidates._candidates(worker, program, schedule_candidates._model("shipped"), 3)
    assert [one.seconds for one in found] == [math.inf] * 3
    assert len({one.trace for one in found}) == 3


def test_a_policy_that_is_none_is_refused() -> None:
    with pytest.raises(SystemExit, match="--policies none: expected shipped, or a file"):
        schedule_candidates._model("none")
