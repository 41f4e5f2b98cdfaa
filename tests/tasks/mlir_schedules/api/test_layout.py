"""Networks with their channels last, and batch norms in their convolutions, compute what torch does."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

pytest.importorskip("torch_mlir")

from burnish.tasks.mlir_schedules.api.from_torch.importing import Imported, fold_batch_norms, import_module
from burnish.tasks.mlir_schedules.programs import program
from burnish.tasks.mlir_schedules.reference.evaluate import evaluate, signature
from tests.tasks.mlir_schedules.api.test_import_torch import SMALL, Applied, drawn


def assert_equal(module: nn.Module, *inputs: Any, **options: Any) -> Imported:
    """Import, evaluate and compare; return what was imported."""
    found = import_module(module.eval(), inputs, **options)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    arrays = [value.numpy() for value in inputs] + found.weights(module)
    text = program(found.text, "imported").content.decode()
    assert [kind.shape for kind in signature(text).inputs] == [array.shape for array in arrays]
    (computed,) = evaluate(text, arrays)
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-4 * (1 + np.abs(expected).max()))
    return found


def ops(found: Imported) -> Counter[str]:
    return Counter(re.findall(r"= linalg\.(\w+)", found.text))


def test_resnet_is_convolutions_biases_and_what_is_by_element() -> None:
    network = SMALL["resnet18"]()
    found = ops(assert_equal(network.module, network.example()))
    assert found == {
        "conv_2d_nhwc_hwcf": 20,
        "broadcast": 20,  # of biases
        "pooling_nhwc_max": 1,
        "matmul": 1,
        "generic": 16 + 2,  # relu, 8 of them of sums; another relu, and the last bias
        "fill": 3,
        "transpose": 1,  # of the image
    }


@pytest.mark.slow
def test_mobilenet_has_depthwise_convolutions_of_hwc() -> None:
    network = SMALL["mobilenet"]()
    found = ops(assert_equal(network.module, network.example()))
    assert found["depthwise_conv_2d_nhwc_hwc"] == 13 and found["conv_2d_nhwc_hwcf"] == 1
    assert found["matmul"] == 13 + 1  # convolutions of single pixels, and the classifier
    assert found["transpose"] == 1


def test_slices_and_concatenations_keep_their_channels_last() -> None:
    found = assert_equal(Halves(), drawn(2, 3, 6, 5))
    assert ops(found)["transpose"] == 3  # of what is taken, padded and as it is, and of what is returned
    assert sorted(re.findall(r"tensor\.concat dim\((\d)\)", found.text)) == ["2", "3"]


def test_convolutions_of_single_pixels_are_products() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 6, 1), nn.Conv2d(6, 2, 1, stride=2))
    found = ops(assert_equal(module, drawn(2, 3, 9, 8)))
    assert (found["matmul"], found["conv_2d_nhwc_hwcf"]) == (1, 2)


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_both_layouts_take_and_return_what_torch_does(layout: Any) -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3, stride=(2, 1), padding=1, dilation=2), nn.ReLU())
    found = assert_equal(module, drawn(2, 3, 9, 8), layout=layout)
    assert found.axes.get("0.weight") == ((2, 3, 1, 0) if layout == "nhwc" else None)
    assert signature(found.text).outputs[0].shape == (2, 4, 4, 6)


class Pooled(nn.Module):
    """An adaptive pool of what torch has with its channels last in memory."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled: torch.Tensor = functional.adaptive_avg_pool2d(torch.tanh(x).permute(0, 3, 1, 2), 1)
        return pooled


class Halves(nn.Module):
    """Slices of channels and of columns, concatenated with what has no layout of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(15, 2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.first(x)
        one, other = made.chunk(2, dim=1)
        columns = torch.cat([other[..., 2:], one[..., ::2][..., :2]], dim=3)
        result: torch.Tensor = self.last(torch.cat([torch.relu(one), columns, x, made], dim=1))
        return result


LAYERS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "depthwise": (nn.Conv2d(4, 4, 3, groups=4, padding=1), (1, 4, 6, 5)),
    "grouped": (nn.Conv2d(4, 6, 3, groups=2), (1, 4, 6, 5)),
    "average": (nn.Sequential(nn.Conv2d(2, 3, 1), nn.AvgPool2d(2), nn.ReLU()), (1, 2, 6, 4)),
    "flattened": (nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(24, 5)), (2, 2, 4, 6)),
    "norm": (nn.Sequential(nn.Conv2d(2, 4, 1), nn.LayerNorm((6, 4)), nn.MaxPool2d(2)), (1, 2, 6, 4)),
    "rows": (nn.Sequential(nn.Conv2d(2, 4, 3), nn.Softmax(-1)), (1, 2, 6, 5)),
    "channels": (nn.Sequential(nn.Conv2d(2, 4, 3), nn.Softmax(1)), (1, 2, 6, 5)),
    "one channel": (nn.Conv2d(1, 1, 3), (2, 1, 6, 5)),
    "norm first": (nn.Sequential(nn.BatchNorm2d(2), nn.Conv2d(2, 3, 3)), (1, 2, 6, 5)),
    "pooled": (Pooled(), (2, 6, 5, 3)),
    "halves": (Halves(), (2, 3, 6, 5)),
    "padded": (nn.Sequential(nn.Conv2d(2, 3, 1), nn.ConstantPad2d((1, 2, 0, 1), 0.5)), (1, 2, 6, 5)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_compute_what_torch_does(name: str) -> None:
    module, shape = LAYERS[name]
    assert_equal(module, drawn(*shape))


def test_what_is_used_in_two_ways_keeps_both_layouts() -> None:
    weight = drawn(3, 2, 3, 3)

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(weight)

        def forward(self, image: Any) -> Any:
            made = functional.conv2d(image, self.weight)
            mixed = made.flatten(2).transpose(1, 2).reshape(1, 4, 5, 3)
            scaled = functional.conv2d(image, self.weight * 2)
            return (made + scaled).sum((2, 3)) + mixed.sum((1, 2)) + self.weight.sum((1, 2, 3))

    assert "weight" not in assert_equal(Twice(), drawn(1, 2, 6, 7)).axes


def test_without_convolutions_nothing_is_transposed() -> None:
    network = SMALL["bert-layer"]()
    found = [import_module(network.module, [network.example()], layout=one).text for one in ("nhwc", "nchw")]
    assert ops(Imported(found[0], (), {})) == ops(Imported(found[1], (), {}))


class Shared(nn.Module):
    """One convolution before two norms, one of which alone could be folded."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(2, 2, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(2), nn.BatchNorm2d(2)])

    def forward(self, value: Any) -> Any:
        for norm in self.norms:
            value = norm(self.convolution(value))
        return value


class Branching(nn.Module):
    """What torch.fx does not follow."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2)

    def forward(self, value: Any) -> Any:
        (count, *_) = value.shape
        return self.norm(self.convolution(value)) if count else value


def test_batch_norms_are_folded_where_that_is_right() -> None:
    module = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU()).eval()
    for value in module.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape, generator=torch.Generator().manual_seed(7)) + 0.5)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    folded = assert_equal(module, drawn(1, 2, 6, 6))
    assert folded.parameters == ("0.weight", "0.bias") and ops(folded)["generic"] == 1
    kept = assert_equal(module, drawn(1, 2, 6, 6), fold=False)
    assert len(kept.parameters) == 5 and ops(kept)["generic"] == 3
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


@pytest.mark.parametrize("module", [Shared(), Branching()])
def test_batch_norms_that_cannot_be_folded_stay(module: nn.Module) -> None:
    folded = fold_batch_norms(module.eval())
    assert any(isinstance(part, nn.BatchNorm2d) for part in folded.modules())
    assert_equal(module, drawn(1, 2, 6, 6))


def test_modules_without_norms_are_not_traced() -> None:
    module = Applied(functional.relu)
    assert fold_batch_norms(module) is module


def test_axes_of_one_element_are_left_out_where_there_are_no_images() -> None:
    """A batch of one sequence is a matrix, in which a bias can be added while a product is computed."""
    layer = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Softmax(-1))
    text = assert_equal(layer, drawn(1, 3, 4)).text
    maps = re.findall(r"^#map.*-> \((.*)\)>", text, re.MULTILINE)
    assert set(", ".join(maps).split(", ")) == {"d0", "d1"}
    assert signature(text).outputs[0].shape == (1, 3, 6)
