"""Modules of torch with schedules compute what they did, for the inputs that they were made for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn

pytest.importorskip("torch_mlir")

from burnish import Budget
from burnish.core.errors import InputError, Miscompiled
from burnish.evaluation import Strategy
from burnish.schedules import ScheduledModule, optimize_module
from burnish.tasks.mlir_schedules.api.from_torch.importing import import_module
from burnish.tasks.mlir_schedules.api.from_torch.networks import NETWORKS


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.fixture(scope="module")
def layer() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)
    ).eval()


@pytest.fixture(scope="module")
def scheduled(layer: nn.Module) -> ScheduledModule:
    return ScheduledModule(layer, [drawn(1, 2, 6, 6)])


def test_modules_are_optimized_in_one_call(layer: nn.Module) -> None:
    budget = Budget(evaluations=3, workers=1)
    found = optimize_module(layer, [drawn(1, 2, 6, 6)], budget=budget, strategy=Strategy("random", "none"))
    value = drawn(1, 2, 6, 6) + 1
    torch.testing.assert_close(found(value), layer(value), rtol=1e-4, atol=1e-4)
    assert found.result is not None and found.result.verified
    assert found.function.trace == (() if found.result.fallback else found.result.trace)


def test_weights_are_copies_and_nothing_is_trained(layer: nn.Module, scheduled: ScheduledModule) -> None:
    assert not list(scheduled.parameters()) and not scheduled.training
    value = drawn(1, 2, 6, 6).requires_grad_()
    assert not scheduled(value).requires_grad
    assert "ScheduledFunction Sequential (1x2x6x6xf32, 3x3x2x4xf32" in repr(scheduled)


def test_several_results_are_a_tuple() -> None:
    class Two(nn.Module):
        def forward(self, one: Any, other: Any) -> Any:
            return one + other, (one * other).sum(1)

    inputs = [drawn(3, 4), drawn(4)]
    found = ScheduledModule(Two().eval(), inputs)(*inputs)
    assert isinstance(found, tuple) and [tuple(one.shape) for one in found] == [(3, 4), (3,)]


def test_other_inputs_are_refused(scheduled: ScheduledModule) -> None:
    with pytest.raises(
        InputError, match=r"input 0 has the shape \(2, 2, 6, 6\); .* optimized for \(1, 2, 6, 6\)"
    ):
        scheduled(drawn(2, 2, 6, 6))
    with pytest.raises(InputError, match=r"input 0 is torch.float64 on cpu; expected torch.float32"):
        scheduled(drawn(1, 2, 6, 6).double())
    with pytest.raises(InputError, match="2 inputs; expected 1"):
        scheduled(drawn(1, 2, 6, 6), drawn(1))


def test_what_differs_from_torch_is_not_returned() -> None:
    doubled = import_module(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), [drawn(3, 4)])
    with pytest.raises(Miscompiled, match=r"result 0 is off by .* from torch's"):
        ScheduledModule(nn.Sequential(nn.Linear(4, 4), nn.Tanh()).eval(), [drawn(3, 4)], imported=doubled)


def test_functions_of_arrays_need_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import burnish.schedules\n"
        "print(burnish.schedules.compile_schedule('add:2x4'))\n"
        "try:\n    burnish.schedules.optimize_module\n"
        "except Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "<ScheduledFunction add:2x4" in done.stdout
    assert "MissingTool torch is not installed: pip install '.[train,mlir]'" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "bert-layer"])
def test_full_networks_run_end_to_end(name: str) -> None:
    network = NETWORKS[name]()
    scheduled = ScheduledModule(network.module, [network.example()])  # which compares
    value = network.example(seed=1)
    with torch.no_grad():
        expected = network.module(value)
    assert (scheduled(value) - expected).abs().max() <= 1e-4 * (1 + expected.abs().max())
