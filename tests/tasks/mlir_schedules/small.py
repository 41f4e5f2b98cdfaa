"""Small programs of each family, for tests that compile and run them; and sessions of such."""

from __future__ import annotations

from functools import cache

from burnish.core.program import Program
from burnish.tasks.mlir_schedules.programs import MlirSource
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program

SMALL = {
    "matmul": "matmul:20x24x9",
    "product": "matmul-bt:12x16x8",
    "layer": "matmul-bias-relu:12x16x8",
    "batched": "batch-matmul:2x6x8x4",
    "conv": "conv2d:6x8x8x4",
    "strided": "conv2d-nchw-strided:4x6x8x3",
    "vector": "matmul:12x1x32",
    "padded": "conv2d-padded:6x6x8x4",
    "depthwise": "depthwise:6x8x4",
    "pool": "maxpool:8x8x6",
    "sums": "sum-rows:12x32",
    "columns": "sum-columns:12x32",
    "add": "add:12x32",
    "bias": "bias-relu:12x32",
    "softmax": "softmax:6x16",
    "norm": "layer-norm:6x16",
    "mlp": "mlp:4x12x8x6",
    "attention": "attention:2x6x4",
}


@cache
def small(name: str) -> Program:
    """Return a program by its name in SMALL, or by its family and extents."""
    return MlirSource().load(SMALL.get(name, name)).program


def opened(name: str, *trace: str) -> ScheduleSession:
    """Return a program after some actions."""
    session = open_program(small(name))
    session.replay(trace)
    return session


def at(site: str, *texts: str) -> list[str]:
    """Return entries of a trace, all at one site."""
    return [f"{site}: {text}" for text in texts]


def loops(session: ScheduleSession, site: str) -> list[str]:
    """Return the loops around an op, outermost first, as 'd0 step 4 x 5'."""
    kinds = {(False, False): "d", (True, False): "r", (False, True): "p"}
    return [
        f"{kinds[loop.reduces, loop.shared]}{loop.dimension} step {loop.step} x {loop.trips}"
        for loop in session.ops.by_name[site].loops
    ]


def is_legal(session: ScheduleSession, entry: str) -> bool:
    """Return whether an entry of a trace applies now."""
    site, _, action = entry.rpartition(": ")
    return bool(session.legal(site)[session.index(action)])
