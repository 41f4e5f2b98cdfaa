"""Elements of sequences, and their embeddings, which begin every sequence with a mark, a learned vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from burnish.policies.batches import Rows, Sequences


@dataclass(frozen=True)
class Numbers:
    """Numbers below `size`; `padding` at a sequence's end is ignored."""

    size: int
    padding: int | None = None

    def inputs(self, length: int) -> Sequences:
        """Return the batching of sequences, of which the last `length` numbers are used."""
        return Sequences(length, self.padding)

    def example(self) -> list[Any]:
        """Return three sequences of the largest number, which must not be the padding."""
        return [np.full(length, self.size - 1, dtype=np.int64) for length in (2, 3, 5)]

    def embedding(self, width: int) -> NumberEmbedding:
        """Return an embedding with new weights."""
        return NumberEmbedding(self.size, width)


@dataclass(frozen=True)
class Vectors:
    """Rows of floats; if a column `there` is given, rows with 0 in that column are ignored."""

    columns: int
    there: int | None = None

    def inputs(self, length: int) -> Rows:
        """Return the batching of sequences, of which the last `length` rows are used."""
        return Rows(self.columns, length, self.there)

    def example(self) -> list[Any]:
        """Return three sequences of ones."""
        return [np.ones((length, self.columns), dtype=np.float32) for length in (2, 3, 5)]

    def embedding(self, width: int) -> VectorEmbedding:
        """Return an embedding with new weights."""
        return VectorEmbedding(self.columns, width)


class NumberEmbedding(nn.Embedding):
    """A vector for each number; the last vector is the mark."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__(size + 1, width)
        self.mark = size

    def begun(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the mark and the elements of a batch of `Sequences.batch`: float32[B, 1 + L, width]."""
        found: Tensor = self(nn.functional.pad(batch["numbers"], (1, 0), value=self.mark))
        return found


class VectorEmbedding(nn.Module):
    """A linear function of standardized columns, and a vector for the mark.

    `mean` and `deviation` are 0 and 1 until `standardize` sets them.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, columns: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(columns, width)
        self.mark = nn.Parameter(torch.randn(width))
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("deviation", torch.ones(columns))

    def begun(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the mark and the elements of a batch of `Rows.batch`: float32[B, 1 + L, width]."""
        found = self.linear((batch["rows"] - self.mean) / self.deviation)
        return torch.cat([self.mark.expand(found.shape[0], 1, -1), found], dim=1)

    def standardize(self, rows: Sequence[Any]) -> None:
        """Set each column's mean and deviation from rows [N, columns]; a constant column is only shifted."""
        seen = torch.from_numpy(np.concatenate(rows)).double()
        if not len(seen):
            return
        deviation = seen.std(dim=0, correction=0)
        self.mean.copy_(seen.mean(dim=0))
        self.deviation.copy_(torch.where(deviation > 1e-6, deviation, torch.ones_like(deviation)))
