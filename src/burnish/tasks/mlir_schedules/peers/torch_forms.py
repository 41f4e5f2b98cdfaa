"""The forms in which torch computes a program: a family as its users would write it, or a module."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from burnish.tasks.mlir_schedules.peers.torch_ops import Op, ops_of
from burnish.tasks.mlir_schedules.peers.way import Call, Way
from burnish.tasks.tensors.arrays import Array, placed

FILTERS = {"nhwc": (3, 2, 0, 1), "nchw": (0, 1, 2, 3)}  # permutations of the program's filters to FCHW
IMAGE_AXES = 4
Prepare = Callable[[Any, Sequence[Tensor]], Any]
"""Compiles a function or a module for some tensors, and returns a function of such tensors."""


def family_ways(name: str, inputs: Sequence[Array], output: Array, prepare: Prepare) -> Iterator[Way]:
    """Yield the ways to write a program of a family by functions of torch; nothing if there are none.

    Args:
        name: The program's name, such as "matmul:64x64x64".
        inputs: The program's inputs.
        output: An array of the shape of its only output.
        prepare: See Prepare; functions that write into an array stay as they are.
    """
    for op in ops_of(name):
        make = partial(_make, op, inputs, output, prepare)
        yield Way(op.name, make, partial(_result, op), op.into)


def module_ways(module: nn.Module, inputs: Sequence[Array], prepare: Prepare) -> Iterator[Way]:
    """Yield the ways to run a module in evaluation mode: for images, in each memory format."""
    has_images = any(array.ndim == IMAGE_AXES for array in inputs)
    for name in ("contiguous", "channels_last") if has_images else ("contiguous",):
        yield Way(name, partial(_run_module, module, inputs, name, prepare), _array)


def tensors(inputs: Sequence[Array], op: Op) -> list[Tensor]:
    """Return a program's arguments as an op takes them: images NCHW, filters FCHW, in the op's format."""
    given = [torch.from_numpy(array) for array in inputs]
    if not op.roles:
        return list(op.prepared(given))
    return [
        _in_format(_turned(one, role, op.layout), op.name) for one, role in zip(given, op.roles, strict=True)
    ]


def _make(op: Op, inputs: Sequence[Array], output: Array, prepare: Prepare) -> Call:
    given = tensors(inputs, op)
    if op.into:
        return _without_gradients(partial(op.function, out=torch.from_numpy(placed(output))), given)
    return _without_gradients(prepare(op.function, given), given)


def _run_module(module: nn.Module, inputs: Sequence[Array], name: str, prepare: Prepare) -> Call:
    own, given = copy.deepcopy(module), [torch.from_numpy(array) for array in inputs]
    if name == "channels_last":
        own = own.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        given = [_in_format(one, name) if one.dim() == IMAGE_AXES else one for one in given]
    return _without_gradients(prepare(own, given), given)


def _without_gradients(function: Callable[..., Any], given: Sequence[Tensor]) -> Call:
    @torch.no_grad()
    def call() -> Any:
        return function(*given)

    return call


def _array(output: Any) -> NDArray[Any]:
    return np.asarray(output)


def _result(op: Op, output: Any) -> NDArray[Any]:
    return np.asarray((output.permute(0, 2, 3, 1) if op.layout == "nhwc" else output).numpy())


def _turned(tensor: Tensor, role: str, layout: str) -> Tensor:
    if role == "i":
        return tensor.permute(0, 3, 1, 2) if layout == "nhwc" else tensor
    if role == "d":
        return (tensor.permute(2, 0, 1) if layout == "nhwc" else tensor)[:, None]
    return tensor.permute(*FILTERS[layout])


def _in_format(tensor: Tensor, name: str) -> Tensor:
    """Return a tensor of 4 dimensions in a memory format, at an address that is a multiple of 64 bytes."""
    if name == "contiguous":
        return torch.from_numpy(placed(tensor.contiguous().numpy()))
    return torch.from_numpy(placed(tensor.permute(0, 2, 3, 1).contiguous().numpy())).permute(0, 3, 1, 2)
