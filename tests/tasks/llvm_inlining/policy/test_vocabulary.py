"""Vocabularies in the files of ml-compiler-opt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.tasks.llvm_inlining.observations import FEATURES, ROW
from burnish.tasks.llvm_inlining.policy.vocabulary import NAMES, read_vocabulary, write_vocabulary

RNG = np.random.default_rng(0)
ROWS = RNG.integers(-50, 5000, (300, len(ROW)))


def test_a_file_has_a_quantile_in_each_line(tmp_path: Path) -> None:
    write_vocabulary(tmp_path / "vocab", ROWS, 5)
    assert {path.name for path in (tmp_path / "vocab").iterdir()} == {f"{name}.buckets" for name in NAMES}
    lines = (tmp_path / "vocab" / f"{FEATURES[3]}.buckets").read_text().splitlines()
    assert [float(line) for line in lines] == np.quantile(ROWS[:, 3], [0, 0.25, 0.5, 0.75, 1]).tolist()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_vocabulary(tmp_path, ROWS, 1000)
    found = read_vocabulary(tmp_path, NAMES)
    expected = np.quantile(ROWS[:, : len(NAMES)], np.linspace(0, 1, 1000), axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_files_of_mlgo_may_have_other_lengths(tmp_path: Path) -> None:
    """As those in ml-compiler-opt: integers and exponents, no line end after the last."""
    (tmp_path / "a.buckets").write_text("0\n1e0\n4.0")
    (tmp_path / "b.buckets").write_text("2\n2\n2\n2\n8\n")
    found = read_vocabulary(tmp_path, ["b", "a"])
    assert found.T.tolist() == [[2, 2, 2, 2, 8], [0, 0.5, 1, 2.5, 4]]


@pytest.mark.parametrize("text", ["", "1\n0\n", "1\nnan\n", "one\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.buckets").write_text(text)
    with pytest.raises(InputError, match=r"a.buckets: .*a number in each line, ascending"):
        read_vocabulary(tmp_path, ["a"])


def test_a_missing_feature_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.buckets").write_text("1\n")
    with pytest.raises(InputError, match=r"b.buckets is missing, and 1 others; `burnish inliner vocabulary`"):
        read_vocabulary(tmp_path, ["a", "b", "c"])
