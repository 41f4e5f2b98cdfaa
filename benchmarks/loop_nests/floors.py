"""The least required ratios of loop nests."""

from __future__ import annotations

from kit.floors import Floor

from loop_nests.rows import POLICY, REFINED

POLICY_SECONDS = 0.4  # the limit for the first schedule of a matmul of 64 to 256

MATMUL, OTHER = ("matmul",), ("nest",)
NUMPY, TORCH, BETTER = ("numpy",), ("torch",), ("numba", "jax")
FLOORS = (
    Floor("held-out matmuls, first schedule / torch", MATMUL, POLICY, TORCH, 0.9, 0.9),
    Floor("held-out matmuls, refined / torch", MATMUL, REFINED, TORCH, 1.10, 1.04),
    Floor("the least of them, refined / NumPy", MATMUL, REFINED, NUMPY, 1.0, 1.0, least=True),
    Floor("matmul of 512, refined / torch", ("matmul-512",), REFINED, TORCH, 1.08, 0.98),
    Floor("matmul of 1024, refined / torch", ("matmul-1024",), REFINED, TORCH, 0.97, 0.95),
    Floor("other nests, refined / NumPy", OTHER, REFINED, NUMPY, 4.0, 3.5),
    Floor("other nests, refined / better of Numba and JAX", OTHER, REFINED, BETTER, 1.45, 1.2),
    Floor("the least of them", OTHER, REFINED, BETTER, 0.95, 0.9, least=True),
    Floor("other nests, first schedule / refined", OTHER, POLICY, (REFINED,), 0.8, 0.8),
)
