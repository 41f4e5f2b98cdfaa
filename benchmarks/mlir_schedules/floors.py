"""The least required ratios of linalg programs."""

from __future__ import annotations

from kit.floors import Floor

from mlir_schedules.cases import CHANNELS_FIRST, GROUPS, LARGE_MATMUL, MATMUL, MEMORY, NETWORK
from mlir_schedules.rows import NAIVE, OURS

SINGLE = tuple(group for group in GROUPS if group != NETWORK)
MATMULS = (MATMUL, LARGE_MATMUL)
FLOORS = (
    Floor("matmul up to 512 / torch", (MATMUL,), OURS, ("torch",), 1.0, 0.93),
    Floor("matmul of 1024 / torch", (LARGE_MATMUL,), OURS, ("torch",), 0.95, 0.92),
    Floor("conv / torch", ("conv",), OURS, ("torch",), 1.10, 1.03),
    Floor("pooling / torch", ("pool",), OURS, ("torch",), 1.6, 1.4),
    Floor("add and relu / torch", ("elementwise",), OURS, ("torch",), 1.0, 1.0),
    Floor("all ops / torch", SINGLE, OURS, ("torch",), 1.1, 1.1),
    Floor("matmul / IREE", MATMULS, OURS, ("iree",), 1.3, 1.3),
    Floor("conv / IREE", ("conv",), OURS, ("iree",), 1.12, 1.12),
    Floor("pooling / IREE", ("pool",), OURS, ("iree",), 0.9, 0.9),
    Floor("all ops / IREE", SINGLE, OURS, ("iree",), 1.2, 1.2),
    Floor("matmul / naive", MATMULS, OURS, (NAIVE,), 150, 150),
    Floor("conv / naive", ("conv",), OURS, (NAIVE,), 45, 45),
    Floor("the slowest network / torch", (NETWORK,), OURS, ("torch",), 1 / 1.3, 1 / 1.3, least=True),
    Floor("channels first / torch", (CHANNELS_FIRST,), OURS, ("torch",), 0.95, 0.95),
    Floor("the slowest of these / torch", (CHANNELS_FIRST,), OURS, ("torch",), 0.8, 0.8, least=True),
    Floor("the slowest in memory / torch, NumPy", (MEMORY,), OURS, ("torch", "numpy"), 1.0, 1.0, least=True),
)
