"""A program compiled by torch.compile for static shapes; weights of networks are constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from mlir_schedules import torch_forms
from mlir_schedules.benches import Bench
from mlir_schedules.peers import Way
from mlir_schedules.torch_ops import ops_of


def ways(bench: Bench) -> Iterator[Way]:
    """Yield each way that does not take `out`, compiled."""
    into = {op.name for op in ops_of(bench.case) if op.into}
    for way in torch_forms.written(bench, _compiled):
        if way.name not in into:
            yield way


def _compiled(function: Any) -> Any:
    torch.compiler.reset()  # because it limits the number of compiled programs
    return torch.compile(function, dynamic=False, options={"freezing": True})
