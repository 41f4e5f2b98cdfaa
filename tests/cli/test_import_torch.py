"""burnish import-torch writes programs and weights that compute what a module does."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("torch_mlir")

from burnish.cli import main
from burnish.schedules import compile_schedule

MODULE = """
import torch
from torch import nn

torch.manual_seed(3)
layer = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU())
number = 7

def pair():
    return nn.Linear(4, 2), [torch.ones(3, 4)]

def counted():
    return number
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(MODULE)
    return Path("net.py")


@pytest.mark.usefixtures("file")
def test_programs_and_weights_compute_what_the_module_does(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--inputs", "1x2x6x6", "-o", "net.mlir", "--weights", "net.npz"]
    assert main(["import-torch", "net.py:layer", *words]) == 0
    shown = capsys.readouterr().out
    assert "net.mlir: " in shown and "1 conv_2d_nhwc_hwcf" in shown
    assert "arguments: 1 input, 2 weights of 57 numbers" in shown
    weights = np.load("net.npz")
    assert weights["0.weight"].shape == (3, 3, 2, 3)
    value = np.random.default_rng(0).standard_normal((1, 2, 6, 6), dtype=np.float32)
    found = compile_schedule("net.mlir")(value, *weights.values())
    space: dict[str, torch.nn.Module] = {}
    exec(MODULE, space)
    with torch.no_grad():
        expected = space["layer"].eval()(torch.from_numpy(value)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("file")
def test_functions_bring_example_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-torch", "net.py:pair", "-o", "net.mlir"]) == 0
    assert "tensor<3x4xf32>" in Path("net.mlir").read_text()
    assert "2 weights of 10 numbers" in capsys.readouterr().out


@pytest.mark.usefixtures("file")
def test_importable_modules_and_options_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(".")
    words = ["--inputs", "1x2x6x6", "--layout", "nchw", "--keep-batch-norms", "-o", "net.mlir"]
    assert main(["import-torch", "net:layer", *words]) == 0
    sys.modules.pop("net")
    text = Path("net.mlir").read_text()
    assert "linalg.conv_2d_nchw_fchw" in text and "math.rsqrt" in text


WRONG = {
    "net.py": "expected FILE.py:NAME or package.module:NAME",
    "other.py:layer": "other.py: there is no such file",
    "net.py:lager": "did you mean 'layer'?",
    "net.py:counted --inputs 3": "net.py:counted is a int; expected a torch.nn.Module, or a function",
    "net.py:layer": "has no example inputs; expected --inputs 1x3x224x224",
    "net.py:layer --inputs 1x2xn": "'1x2xn': expected a shape such as 1x3x224x224",
    "nowhere.at_all:layer": "nowhere.at_all cannot be imported: No module named 'nowhere'",
    "net.py:layer --weights net.txt": "expected a name that ends in .npz",
    "net.py:layer -o net.txt": "expected a name that ends in .mlir",
}


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("words", WRONG)
def test_what_cannot_be_imported_is_said(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-torch", "-o", "net.mlir", *words.split()]) == 2
    assert WRONG[words] in capsys.readouterr().err
    assert not Path("net.mlir").exists()


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-torch", "--help"]) == 0
    assert "burnish optimize resnet.mlir" in capsys.readouterr().out
