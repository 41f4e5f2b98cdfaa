"""A program computed by torch, op by op, in each memory format."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from burnish.tasks.mlir_schedules.peers.torch_forms import Prepare, family_ways, module_ways, op_ways
from burnish.tasks.mlir_schedules.peers.torch_ops import convolutions
from burnish.tasks.mlir_schedules.peers.way import Way
from mlir_schedules import batches
from mlir_schedules.benches import Bench

torch.set_num_threads(1)


def ways(bench: Bench) -> Iterator[Way]:
    """Yield each way in which the family is written, or each layout of a network."""
    return written(bench, lambda function, _: function)


def written(bench: Bench, prepare: Prepare) -> Iterator[Way]:
    """Yield the ways of a program; `prepare` compiles each function or module before the calls."""
    inputs, outputs = bench.trial.inputs, bench.trial.outputs
    if bench.network:
        return module_ways(bench.network.module, inputs[:1], prepare)
    if bench.case.op != batches.FAMILY:
        return family_ways(bench.case.op, inputs, outputs[0], prepare)
    found = batches.BatchConvolution.named(bench.case.name)
    ops = convolutions("nchw", stride=found.stride, padding=found.padding)
    return op_ways(ops, inputs, outputs[0], prepare)
