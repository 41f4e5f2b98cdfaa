"""The least required ratios, on machines with AVX-512 and with narrower vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loop_nests.rows import CALLED, POLICY, REFINED, Row, mean

POLICY_SECONDS = 0.4  # the limit for the first schedule of a matmul of 64 to 256


@dataclass(frozen=True)
class Floor:
    """A required ratio over a group's cases: of the geometric mean, or of the slowest case."""

    text: str
    group: str
    ours: str
    peers: tuple[str, ...]  # the fastest one counts
    wide: float  # the floor with vectors of 64 bytes
    narrow: float  # the floor with narrower vectors
    least: bool = False

    def value(self, rows: Sequence[Row], *, called: bool = False) -> float:
        """Return the ratio; NaN if the group has no case.

        Args:
            rows: The rows of all groups.
            called: Use times of calls from Python, not from a loop of machine code.
        """
        behind = CALLED if called else ""
        peers = [peer + behind if peer in (POLICY, REFINED) else peer for peer in self.peers]
        ratios = [row.ratio(self.ours + behind, *peers) for row in rows if row.group == self.group]
        return min(ratios) if self.least and ratios else mean(ratios)

    def floor(self, vector_bytes: int) -> float:
        """Return the least ratio that is required."""
        return self.wide if vector_bytes >= 64 else self.narrow


BETTER = ("numba", "jax")
FLOORS = (
    Floor("held-out matmuls, first schedule / torch", "matmul", POLICY, ("torch",), 0.9, 0.9),
    Floor("held-out matmuls, refined / torch", "matmul", REFINED, ("torch",), 1.10, 1.04),
    Floor("the least of them, refined / NumPy", "matmul", REFINED, ("numpy",), 1.0, 1.0, least=True),
    Floor("matmul of 512, refined / torch", "matmul-512", REFINED, ("torch",), 1.08, 0.98),
    Floor("matmul of 1024, refined / torch", "matmul-1024", REFINED, ("torch",), 0.97, 0.95),
    Floor("other nests, refined / NumPy", "nest", REFINED, ("numpy",), 4.0, 3.5),
    Floor("other nests, refined / better of Numba and JAX", "nest", REFINED, BETTER, 1.45, 1.2),
    Floor("the least of them", "nest", REFINED, BETTER, 0.95, 0.9, least=True),
    Floor("other nests, first schedule / refined", "nest", POLICY, (REFINED,), 0.8, 0.8),
)
