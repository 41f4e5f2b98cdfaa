"""A program computed by torch, op by op, in each memory format."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mlir_schedules.benches import Bench, placed
from mlir_schedules.peers import Call, Way
from mlir_schedules.torch_ops import Op, ops_of

torch.set_num_threads(1)

FILTERS = {"nhwc": (3, 2, 0, 1), "nchw": (0, 1, 2, 3)}  # permutations of the program's filters to FCHW
Compile = Callable[[Any], Any]


def ways(bench: Bench) -> Iterator[Way]:
    """Yield each way in which the family is written, or each layout of a network."""
    return written(bench, lambda function: function)


def written(bench: Bench, compiled: Compile) -> Iterator[Way]:
    """Yield the ways of a program; `compiled` transforms each function or module before the calls."""
    if bench.network:
        layouts = ("contiguous", "channels_last") if len(bench.network.shape) == 4 else ("contiguous",)
        for layout in layouts:
            yield Way(layout, partial(_network, bench, layout, compiled), np.asarray)
    for op in ops_of(bench.case):
        yield Way(op.name, partial(_make, bench, op, compiled), partial(_result, op))


def tensors(bench: Bench, op: Op) -> list[Tensor]:
    """Return a program's arguments as an op takes them: images NCHW, filters FCHW, in the op's format."""
    given = [torch.from_numpy(array) for array in bench.trial.inputs]
    if not op.roles:
        return list(op.prepared(given))
    return [
        _in_format(_turned(one, role, op.layout), op.name) for one, role in zip(given, op.roles, strict=True)
    ]


def _make(bench: Bench, op: Op, compiled: Compile) -> Call:
    given = tensors(bench, op)
    if op.into:
        out = torch.from_numpy(placed(bench.trial.outputs[0]))
        return _without_gradients(partial(op.function, out=out), given)
    return _without_gradients(compiled(op.function), given)


def _network(bench: Bench, layout: str, compiled: Compile) -> Call:
    module, image = copy.deepcopy(bench.network.module), torch.from_numpy(bench.trial.inputs[0])
    if layout == "channels_last":
        module, image = module.to(memory_format=torch.channels_last), _in_format(image, layout)
    return _without_gradients(compiled(module), [image])


def _without_gradients(function: Callable[..., Any], given: Sequence[Tensor]) -> Call:
    @torch.no_grad()
    def call() -> Any:
        return function(*given)

    return call


def _result(op: Op, output: Any) -> Any:
    return (output.permute(0, 2, 3, 1) if op.layout == "nhwc" else output).numpy()


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
