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
    (row,) = speed.rows(argparse.Namespace(**given, rounds=1))
    assert (row["program"], row["way"], row["profile"]) == ("kernels:nbody", "policy", False)
    assert row["low"] <= row["ratio"] <= row["high"] and row["trace"]
    assert "| policy | no |" in speed.table([row])


def test_the_kernels_name_their_processor() -> None:
    """So no option of the benchmark could choose another."""
    kernel = load_kernel("matmul", level="O3")
    codes = [open_baseline(kernel, "O3", cpu).object_code() for cpu in ("", "x86-64", "znver3")]
    assert codes[0] == codes[1] == codes[2]
