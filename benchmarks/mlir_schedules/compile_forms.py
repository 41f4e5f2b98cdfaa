"""A program compiled by torch.compile for static shapes; weights of networks are constants."""

from __future__ import annotations

from collections.abc import Iterator

from burnish.tasks.mlir_schedules.peers.session import compiled
from burnish.tasks.mlir_schedules.peers.way import Way
from mlir_schedules import torch_forms
from mlir_schedules.benches import Bench


def ways(bench: Bench) -> Iterator[Way]:
    """Yield each way that does not take `out`, compiled."""
    return (way for way in torch_forms.written(bench, compiled) if not way.into)
