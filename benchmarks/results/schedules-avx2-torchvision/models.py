"""Networks of torchvision 0.28.0, as they are, with random weights and one image each."""

import torch
from torchvision import models

Network = tuple[torch.nn.Module, torch.Tensor]


def mobilenet_v2() -> Network:
    """Sandler et al. 2018."""
    return _with_image(models.mobilenet_v2())


def efficientnet() -> Network:
    """EfficientNet-B0: Tan and Le 2019."""
    return _with_image(models.efficientnet_b0())


def squeezenet() -> Network:
    """SqueezeNet 1.1: Iandola et al. 2016."""
    return _with_image(models.squeezenet1_1())


def convnext() -> Network:
    """ConvNeXt-T: Liu et al. 2022."""
    return _with_image(models.convnext_tiny())


def _with_image(module: torch.nn.Module) -> Network:
    return module.eval(), torch.randn(1, 3, 224, 224)
