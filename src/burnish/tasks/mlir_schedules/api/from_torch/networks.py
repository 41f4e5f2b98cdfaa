"""Networks to compile as a whole: our own definitions, in evaluation mode, with random weights.

Layers and sizes are those of the papers; smaller variants have the same layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Network:
    """A network and the shape of its only input: one image, or one sequence, as a batch."""

    module: nn.Module
    shape: tuple[int, ...]

    def example(self, seed: int = 0) -> Tensor:
        """Return a random input."""
        return torch.randn(self.shape, generator=torch.Generator().manual_seed(seed))


def resnet18(side: int = 224, width: int = 64, classes: int = 1000, seed: int = 0) -> Network:
    """Return ResNet-18: He et al., Deep residual learning for image recognition, 2016, table 1.

    The shortcuts across stages are projections (option B), as in common implementations.
    """
    stages: list[nn.Module] = []
    before = width
    for number in range(4):
        after = width << number
        stages += [_Residual(before, after, 2 if number else 1), _Residual(after, after, 1)]
        before = after
    first = [*_convolution(3, width, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)]
    last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return Network(_seeded(nn.Sequential(*first, *stages, *last), seed), (1, 3, side, side))


def mobilenet(side: int = 224, width: int = 32, classes: int = 1000, seed: int = 0) -> Network:
    """Return MobileNet: Howard et al., MobileNets, 2017, table 1; its first layer has `width` channels."""
    layers: list[nn.Module] = [*_convolution(3, width, 3, stride=2), nn.ReLU()]
    before = width
    for factor, stride in MOBILENET_STAGES:
        after = width * factor
        layers += [*_convolution(before, before, 3, stride=stride, groups=before), nn.ReLU()]
        layers += [*_convolution(before, after, 1), nn.ReLU()]
        before = after
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return Network(_seeded(nn.Sequential(*layers), seed), (1, 3, side, side))


def bert_layer(length: int = 128, width: int = 768, heads: int = 12, seed: int = 0) -> Network:
    """Return a layer of BERT-base's encoder: Devlin et al., BERT, 2019, section 3; no token is masked."""
    return Network(_seeded(_Encoder(width, heads), seed), (1, length, width))


def gpt2_block(length: int = 128, width: int = 768, heads: int = 12, seed: int = 0) -> Network:
    """Return a block of the smallest GPT-2: Radford et al., 2019, section 2.3 and table 2."""
    return Network(_seeded(_Decoder(width, heads), seed), (1, length, width))


NETWORKS: Mapping[str, Callable[[], Network]] = {
    "resnet18": resnet18,
    "mobilenet": mobilenet,
    "bert-layer": bert_layer,
    "gpt2-block": gpt2_block,
}

MOBILENET_STAGES = ((2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2), *[(16, 1)] * 5, (32, 2), (32, 1))
"""For each pair of convolutions: the channels after it, in multiples of the first layer's, and its stride."""


class _Residual(nn.Module):
    """Two convolutions of 3 x 3 with a shortcut around them: the paper's figure 2 and equation 2."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        first = [*_convolution(before, after, 3, stride=stride), nn.ReLU()]
        self.body = nn.Sequential(*first, *_convolution(after, after, 3))
        around = [] if before == after else _convolution(before, after, 1, stride=stride)
        self.around = nn.Sequential(*around)

    def forward(self, value: Tensor) -> Tensor:
        """Return (N, C, H, W) for an input of (N, C, H, W); H and W are divided by the stride."""
        return torch.relu(self.body(value) + self.around(value))


class _Attention(nn.Module):
    """Attention of several heads: Vaswani et al., Attention is all you need, 2017, section 3.2."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, value: Tensor) -> Tensor:
        """Return (N, length, width) for an input of the same shape."""
        count, length, width = value.shape
        query, key, each = (
            layer(value).view(count, length, self.heads, width // self.heads).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, each, is_causal=self.causal)
        found: Tensor = self.out(mixed.transpose(1, 2).reshape(count, length, width))
        return found


class _Encoder(nn.Module):
    """BERT's layer: the layer norms come after the sums, and have an epsilon of 1e-12."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = _Attention(width, heads, causal=False)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, value: Tensor) -> Tensor:
        """Return (N, length, width) for an input of the same shape."""
        value = self.first(value + self.attention(value))
        found: Tensor = self.second(value + self.narrow(functional.gelu(self.wide(value))))
        return found


class _Decoder(nn.Module):
    """GPT-2's block: layer norms come first, tokens attend to earlier tokens only, and GELU is by tanh."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = _Attention(width, heads, causal=True)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, value: Tensor) -> Tensor:
        """Return (N, length, width) for an input of the same shape."""
        value = value + self.attention(self.first(value))
        hidden = functional.gelu(self.wide(self.second(value)), approximate="tanh")
        found: Tensor = value + self.narrow(hidden)
        return found


def _convolution(before: int, after: int, side: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Return a convolution with padding, which divides the image's sides by its stride, and a batch norm."""
    padding = side // 2
    return [
        nn.Conv2d(before, after, side, stride=stride, padding=padding, groups=groups, bias=False),
        nn.BatchNorm2d(after),
    ]


def _seeded(module: nn.Module, seed: int) -> nn.Module:
    """Draw a module's weights so that values keep their size from layer to layer; set evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        if not value.is_floating_point():
            continue
        drawn = torch.randn(value.shape, generator=generator)
        if value.dim() > 1:
            drawn = drawn * (2 / value[0].numel()) ** 0.5
        elif name.endswith("running_var"):
            drawn = 1 + 0.1 * drawn.abs()
        else:  # a bias, a mean, or a scale around 1
            drawn = 0.1 * drawn + value.detach().round()
        value.data.copy_(drawn)
    return module.eval()
