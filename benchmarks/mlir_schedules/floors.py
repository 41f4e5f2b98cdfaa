"""The least required ratios, on machines with AVX-512 and with narrower vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mlir_schedules.cases import GROUPS, LARGE_MATMUL, MATMUL, NETWORK
from mlir_schedules.rows import NAIVE, OURS, Row, mean_ratio

SINGLE = tuple(group for group in GROUPS if group != NETWORK)


@dataclass(frozen=True)
class Floor:
    """A required ratio over some groups' cases: of the geometric mean, or of the slowest case."""

    text: str
    groups: tuple[str, ...]
    peer: str
    wide: float  # the floor with vectors of 64 bytes
    narrow: float  # the floor with narrower vectors
    least: bool = False

    def value(self, rows: Sequence[Row], ours: str = OURS) -> float:
        """Return the ratio; NaN if the groups have no case with this peer."""
        chosen = [row for row in rows if row.group in self.groups]
        if not self.least:
            return mean_ratio(chosen, self.peer, ours=ours)
        ratios = [row.ratio(self.peer, ours=ours) for row in chosen]
        return min((ratio for ratio in ratios if math.isfinite(ratio)), default=math.nan)

    def floor(self, vector_bytes: int) -> float:
        """Return the least ratio that is required."""
        return self.wide if vector_bytes >= 64 else self.narrow


MATMULS = (MATMUL, LARGE_MATMUL)
FLOORS = (
    Floor("matmul up to 512 / torch", (MATMUL,), "torch", 1.0, 0.93),
    Floor("matmul of 1024 / torch", (LARGE_MATMUL,), "torch", 0.95, 0.92),
    Floor("conv / torch", ("conv",), "torch", 1.10, 1.03),
    Floor("pooling / torch", ("pool",), "torch", 1.6, 1.4),
    Floor("add and relu / torch", ("elementwise",), "torch", 1.0, 1.0),
    Floor("all ops / torch", SINGLE, "torch", 1.1, 1.1),
    Floor("matmul / IREE", MATMULS, "iree", 1.3, 1.3),
    Floor("conv / IREE", ("conv",), "iree", 1.12, 1.12),
    Floor("pooling / IREE", ("pool",), "iree", 0.9, 0.9),
    Floor("all ops / IREE", SINGLE, "iree", 1.2, 1.2),
    Floor("matmul / naive", MATMULS, NAIVE, 150, 150),
    Floor("conv / naive", ("conv",), NAIVE, 45, 45),
    Floor("the slowest network / torch", (NETWORK,), "torch", 1 / 1.3, 1 / 1.3, least=True),
)
