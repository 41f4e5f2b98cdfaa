"""A program compiled by JAX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import numpy as np

from burnish.tasks.mlir_schedules.peers.way import Call, Way
from mlir_schedules.benches import Bench
from mlir_schedules.jax_ops import FAMILIES, Op

# Otherwise JAX computes in another thread, and that thread's latency exceeds the time of small programs.
jax.config.update("jax_cpu_enable_async_dispatch", False)


def ways(bench: Bench) -> Iterator[Way]:
    """Yield each way in which the family is written."""
    for op in FAMILIES.get(bench.case.op, ()):
        yield Way(op.name, partial(_make, bench, op), np.asarray)


def _make(bench: Bench, op: Op) -> Call:
    arrays: list[Any] = [jax.device_put(array) for array in bench.trial.inputs]
    compiled = jax.jit(op.function)
    return lambda: compiled(*arrays).block_until_ready()
