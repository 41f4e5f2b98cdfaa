"""Programs of torch's modules compute what torch does."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

pytest.importorskip("torch_mlir")

from burnish.core.errors import InputError, MissingTool
from burnish.tasks.mlir_schedules.api.from_torch.importing import import_module
from burnish.tasks.mlir_schedules.api.from_torch.networks import (
    NETWORKS,
    Network,
    bert_layer,
    gpt2_block,
    mobilenet,
    resnet18,
)
from burnish.tasks.mlir_schedules.reference.evaluate import evaluate, signature
from burnish.tasks.mlir_schedules.reference.inputs import inputs_of
from burnish.tasks.mlir_schedules.reference.work import tolerance

SMALL: dict[str, Callable[[], Network]] = {
    "resnet18": partial(resnet18, side=32, width=4, classes=10),
    "mobilenet": partial(mobilenet, side=32, width=2, classes=10),
    "bert-layer": partial(bert_layer, length=6, width=16, heads=2),
    "gpt2-block": partial(gpt2_block, length=6, width=16, heads=2),
}


class Applied(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *values: Any) -> Any:
        return self.function(*values)


def drawn(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def assert_equal(module: Any, *inputs: Any) -> str:
    """Import, evaluate and compare; return the text."""
    found = import_module(module.eval(), inputs, layout="nchw", fold=False)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    arrays = [value.numpy() for value in inputs] + found.weights(module)
    assert [kind.shape for kind in signature(found.text).inputs] == [array.shape for array in arrays]
    (computed,) = evaluate(found.text, arrays)
    error = np.abs(computed - expected).max() / (1 + np.abs(expected).max())
    assert error < min(1e-4, tolerance(found.text))
    return found.text


def assert_function(function: Callable[..., Any], *inputs: Any) -> str:
    return assert_equal(Applied(function), *inputs)


SLOW = ("mobilenet",)  # to import: torch-mlir takes seconds


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SMALL]
)
def test_networks_are_what_torch_computes(name: str) -> None:
    network = SMALL[name]()
    text = assert_equal(network.module, network.example())
    assert np.isfinite(evaluate(text, inputs_of(text))[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_full_networks_are_what_torch_computes(name: str) -> None:
    network = NETWORKS[name]()
    assert_equal(network.module, network.example())


@pytest.mark.parametrize(
    ("name", "parameters"), [("resnet18", 11_689_512), ("mobilenet", 4_231_976), ("bert-layer", 7_087_872)]
)
def test_networks_have_the_parameters_of_the_papers(name: str, parameters: int) -> None:
    assert sum(value.numel() for value in NETWORKS[name]().module.parameters()) == parameters


CONVOLUTIONS = {
    "strides": {"stride": (2, 1), "padding": 1},
    "dilation": {"dilation": 2},
    "depthwise": {"groups": 4},
}


@pytest.mark.parametrize("options", CONVOLUTIONS)
def test_convolutions_are_named_operations(options: str) -> None:
    chosen: Any = CONVOLUTIONS[options]
    module = torch.nn.Conv2d(4, 4, 3, **chosen)
    text = assert_equal(module, drawn(2, 4, 9, 8))
    op = "depthwise_conv_2d_nchw_chw" if options == "depthwise" else "conv_2d_nchw_fchw"
    assert f"linalg.{op} " in text


def test_pools_are_named_operations() -> None:
    text = assert_function(
        partial(functional.max_pool2d, kernel_size=3, stride=2, padding=1), drawn(1, 2, 7, 9)
    )
    assert "linalg.pooling_nchw_max" in text
    assert_function(partial(functional.avg_pool2d, kernel_size=2), drawn(1, 2, 6, 8))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softmax": partial(torch.softmax, dim=1),
    "log softmax": partial(torch.log_softmax, dim=-1),
    "gelu": functional.gelu,
    "gelu by tanh": partial(functional.gelu, approximate="tanh"),
    "layer norm": partial(functional.layer_norm, normalized_shape=(4,)),
    "group norm": lambda value: functional.group_norm(value.transpose(0, 1), 3),
    "variance": partial(torch.var, dim=(0, 2)),
    "silu": functional.silu,
    "mean": torch.mean,
    "root": lambda value: value.abs().sqrt(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_need_floats_alone(name: str) -> None:
    text = assert_function(FUNCTIONS[name], drawn(3, 6, 4))
    assert not re.search("tensor<[0-9x]*(f64|i64|i1)>", text)


def test_masks_become_part_of_what_they_mask() -> None:
    causal = partial(functional.scaled_dot_product_attention, is_causal=True)
    parts = [drawn(1, 2, 5, 4), drawn(1, 2, 5, 4) * 2, drawn(1, 2, 5, 4) + 1]
    assert_function(causal, *parts)
    assert_function(functional.scaled_dot_product_attention, *parts, drawn(5, 5))
    triangle = Applied(
        lambda value: value.masked_fill(torch.ones(5, 5).triu(1) > 0, float("-inf")).softmax(-1)
    )
    assert "linalg.index" in assert_equal(triangle, drawn(2, 5, 5))


def test_chains_of_elements_are_one_operation_after_a_product() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU())
    text = assert_equal(module, drawn(5, 4))
    assert re.findall("linalg.[a-z]+ (?=[{i])", text) == ["linalg.fill ", "linalg.matmul ", "linalg.generic "]
    assert "linalg.transpose" not in text


def test_what_is_computed_once_stays_so() -> None:
    """The root of a variance is not taken for each element that is divided by it."""
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU())
    text = assert_equal(module, drawn(1, 2, 6, 6))
    (where,) = (part for part in text.split("linalg.generic") if "math.rsqrt" in part)
    assert "tensor<3xf32>" in where.splitlines()[0] and "tensor<1x3x4x4xf32>" not in where.splitlines()[0]


def test_weights_are_arguments_in_the_order_of_their_names() -> None:
    linear = torch.nn.Linear(4, 8)
    module = torch.nn.Sequential(linear, torch.nn.BatchNorm1d(8)).eval()
    found = import_module(module, [drawn(5, 4)], fold=False)
    assert found.parameters == ("0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var")
    assert found.axes == {"0.weight": (1, 0)}
    first = found.weights(module)[0]
    assert first.flags.c_contiguous
    np.testing.assert_array_equal(first, linear.weight.detach().numpy().T)


def test_functions_have_the_name_that_is_asked_for() -> None:
    assert signature(import_module(torch.nn.ReLU().eval(), [drawn(4)], "relu").text).name == "relu"


WEIGHTS = drawn(4, 40)
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "truths": (lambda value: value > 0, "tensor<3x4xi1>.*; expected tensors of f32, i64, i32"),
    "scans": (
        lambda value: value.cumsum(0),
        "the module needs tm_tensor.scan; programs can have .* linalg, tensor",
    ),
    "doubles": (lambda value: value.double(), "tensor<3x4xf64>"),
    "constants": (
        lambda value: value @ WEIGHTS,
        "there is a constant in .*; expected a parameter or a buffer",
    ),
    "no form": (lambda value: torch.linalg.svd(value)[0], "'torch.operator'"),
    "branches": (lambda value: value if value.sum() > 0 else -value, "data-dependent"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_programs_do_not_have_is_named(name: str) -> None:
    function, said = REFUSED[name]
    with pytest.raises(InputError, match=f"Applied cannot be imported: .*{said}"):
        import_module(Applied(function).eval(), [drawn(3, 4)])


def test_modules_in_training_and_other_inputs_are_refused() -> None:
    with pytest.raises(InputError, match=r"Dropout is in training mode; expected module.eval\(\)"):
        import_module(torch.nn.Dropout(), [drawn(4)])
    with pytest.raises(InputError, match=r"input 0 is torch.float64; expected a tensor of torch.float32"):
        import_module(torch.nn.ReLU().eval(), [torch.ones(4, dtype=torch.float64)])


def test_without_torch_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = torch.nn.ReLU().eval()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingTool, match=r"pip install '\.\[train,mlir\]'"):
        import_module(module, [])
