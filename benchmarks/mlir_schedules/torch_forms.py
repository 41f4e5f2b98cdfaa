"""A program computed by torch, op by op, in each memory format."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from burnish.tasks.mlir_schedules.peers.torch_forms import Prepare, family_ways, module_ways
from burnish.tasks.mlir_schedules.peers.way import Way
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
    return family_ways(bench.case.name, inputs, outputs[0], prepare)
