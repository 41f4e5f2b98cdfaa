"""torch computes programs of families and imported modules; results are compared with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

from burnish.cli import main
from burnish.core.errors import CompileError, IllegalAction, InputError, MissingTool, UnknownName
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.tasks.mlir_schedules import TASK
from burnish.tasks.mlir_schedules.api.from_torch.importing import import_module
from burnish.tasks.mlir_schedules.api.from_torch.loading import load_module
from burnish.tasks.mlir_schedules.peers import torch_ops
from burnish.tasks.mlir_schedules.peers.session import open_torch
from burnish.tasks.mlir_schedules.programs import MlirSource, program
from burnish.tasks.mlir_schedules.session import toolchain

MODULES = """
import torch

def perceptron():
    layers = torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Linear(6, 5)
    return torch.nn.Sequential(*layers).eval(), torch.ones(3, 8)

def images():
    layers = torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()
    return torch.nn.Sequential(*layers).eval(), torch.ones(1, 2, 6, 6)
"""
SLOW_MODES = [pytest.param("compile", marks=pytest.mark.slow)]  # its compiler takes half a minute


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """Return a file with two modules."""
    path = tmp_path / "models.py"
    path.write_text(MODULES)
    return path


def imported(where: str, **how: Any) -> Program:
    """Return the program of a module in a file."""
    module, inputs = load_module(where)
    return program(import_module(module, inputs, **how).text, "mine.mlir")


def named(name: str) -> Program:
    return MlirSource().load(name).program


@pytest.mark.parametrize("mode", ["eager", "jit", *SLOW_MODES])
@pytest.mark.parametrize("name", ["matmul-bias-relu:6x8x10", "conv2d:6x5x4x3"])
def test_a_family_is_computed_by_torch(mode: str, name: str) -> None:
    session = open_torch(mode, named(name))
    assert 0 < session.measure("seconds") < session.measure("seconds") * 1e3
    assert session.fork().digest() == session.digest()
    assert mode in session.digest() or mode == "eager"


def test_nothing_is_decided_in_a_peer() -> None:
    session = open_torch("eager", named("add:4x6"))
    assert session.legal().shape == (0,)
    with pytest.raises(IllegalAction):
        session.apply(0)
    with pytest.raises(UnknownName, match="observation"):
        session.observe("op")


@pytest.mark.parametrize("mode", ["eager", "jit", *SLOW_MODES])
def test_a_module_is_computed_with_its_own_weights(modules: Path, mode: str) -> None:
    where = f"{modules}:images"
    assert open_torch(mode, imported(where), where).measure("seconds") > 0


@pytest.mark.parametrize("how", [{"layout": "nchw"}, {"fold": False}])
def test_the_options_of_the_import_are_found(modules: Path, how: dict[str, Any]) -> None:
    where = f"{modules}:images"
    assert open_torch("eager", imported(where, **how), where).measure("seconds") > 0


def test_another_module_is_refused(modules: Path) -> None:
    with pytest.raises(InputError, match=r"mine\.mlir was not imported from .*:images: \w+"):
        open_torch("eager", imported(f"{modules}:perceptron"), f"{modules}:images")


def test_a_program_of_no_family_needs_its_module(modules: Path) -> None:
    with pytest.raises(InputError, match=r"mine\.mlir: torch has no form .*--original"):
        open_torch("eager", imported(f"{modules}:perceptron"))


def test_a_form_with_other_results_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [torch_ops.Op(lambda a, b: a @ b + 1, "wrong"), torch_ops.Op(lambda a, b: a.T, "shape")]
    monkeypatch.setitem(torch_ops.FAMILIES, "matmul", wrong)
    with pytest.raises(CompileError, match=r"wrong: result 0.* is .*; shape: result 0 has the shape"):
        open_torch("eager", named("matmul:4x4x8"))


def test_without_torch_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    one = named("add:4x6")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingTool, match=r"pip install '\.\[train,mlir\]'"):
        open_torch("eager", one)


def result_of(one: Program, source: str) -> Result:
    """Return a result that kept no action."""
    return Result(
        task=TASK.id,
        program=one.name,
        digest=one.digest,
        objective="seconds",
        method="m",
        seed=0,
        trace=(),
        cost=1.0,
        baselines={},
        evaluations=1,
        seconds=0.1,
        toolchain=toolchain(),
        source=(source,),
    )


@pytest.mark.slow
def test_results_are_compared_with_torch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(result_of(named("add:8x16"), "add:8x16").to_json() + "\n")
    assert main(["compare", str(path), "--against", "torch", "--confidence", "0.9", "--json"]) == 0
    row, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert row["against"] == "torch" and row["noisy"]["seconds"]["low"] > 0
    assert summary["summary"]["against"] == "torch"
    assert main(["compare", str(path), "--against", "tensorflow"]) == 2
    assert "no baseline named 'tensorflow'; known: naive, torch," in capsys.readouterr().err


@pytest.mark.slow
def test_networks_are_compared_with_their_modules(
    modules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, file = f"{modules}:perceptron", tmp_path / "mine.mlir"
    file.write_bytes(imported(where).content)
    path = tmp_path / "results.jsonl"
    path.write_text(result_of(MlirSource().load(str(file)).program, str(file)).to_json() + "\n")
    against = "torch,torch.compile,torch.jit"
    assert main(["compare", str(path), "--against", against, "--original", where]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in against.split(","))
