"""The benchmark of run time: the row of an object, and the table."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import speed

from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.modules.session import open_baseline


def test_the_policys_object_is_compared_with_clangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "UNSEEN", "small")
    policy = str(Path(speed.__file__).parent / "results" / "speed" / "policy.npz")
    given = {"patterns": ["kernels:nbody"], "policy": policy, "profile": ["no"], "ways": ["policy"]}
    (row,) = speed.rows(argparse.Namespace(**given, march="", rounds=1))
    assert (row["program"], row["way"], row["profile"]) == ("kernels:nbody", "policy", False)
    assert row["low"] <= row["ratio"] <= row["high"] and row["trace"]
    assert "| policy | no |" in speed.table([row])


def test_kernels_are_built_for_a_processor_by_march() -> None:
    """They name their processor, so the task's option for others has no effect."""
    kernel = load_kernel("matmul", level="O3")
    codes = [open_baseline(kernel, "O3", cpu).object_code() for cpu in ("", "x86-64", "znver3")]
    assert codes[0] == codes[1] == codes[2]
    (case,) = speed.cases(["*:matmul"], "znver3")
    for own in (load_kernel("matmul", level="O3", march="znver3"), case.seen, case.unseen):
        assert open_baseline(own, "O3").object_code() != codes[0]
