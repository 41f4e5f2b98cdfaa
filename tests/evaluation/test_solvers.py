"""Methods by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.evaluation.solvers import with_series


def test_a_folder_is_a_method_for_each_of_its_policies(tmp_path: Path) -> None:
    for name in (
        "iteration-000010.npz",
        "iteration-000000.npz",
        "iteration-000005.onnx",
        "iteration-000005.card.json",
    ):
        (tmp_path / name).touch()
    assert with_series(["random", f"greedy@{tmp_path}", "mixed@shipped"]) == (
        "random",
        f"greedy@{tmp_path}/iteration-000000.npz",
        f"greedy@{tmp_path}/iteration-000005.onnx",
        f"greedy@{tmp_path}/iteration-000010.npz",
        "mixed@shipped",
    )


def test_a_folder_without_policies_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no policy; expected \.npz or \.onnx files"):
        with_series([f"mixed@{tmp_path}"])
