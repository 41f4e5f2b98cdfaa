"""The comparison model: which of two schedules of a program is faster.

A schedule's embedding is the sum over its statements of e(features). The log-odds that schedule a is faster
than b are g(e_a, e_b) - g(e_b, e_a), so they change their sign with the order. e and g are perceptrons, each
the mean of several. burnish.tasks.tensors.train.comparison_fitting trains them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.policies.npz import DAMAGE, read_archive, write_archive
from burnish.tasks.tensors.policy.cost_model import Floats, Layers, normalized, perceptrons

FORMAT: Final = 1
NAMES: Final = ("kind", "task", "objective", "columns", "vector_bytes", "card")


@dataclass(frozen=True, eq=False)
class ComparisonModel:
    """A comparison model, with the scales of its features.

    Attributes:
        task: The id of the task.
        objective: The objective whose values are compared.
        columns: The features that the model uses, some of `known`.
        vector_bytes: The size of vectors on the machine that was measured.
        mean: float32[F], the mean of each feature in training.
        deviation: float32[F], the standard deviation plus LEAST_DEVIATION.
        embedding: The layers of e, from F features to D numbers.
        judge: The layers of g, from 2 D numbers to one.
        known: The columns of the rows that are passed to the model.
        kind: The kind of policy that its file holds.
        card: Further metadata.
    """

    task: str
    objective: str
    columns: tuple[str, ...]
    vector_bytes: int
    mean: Floats
    deviation: Floats
    embedding: Layers
    judge: Layers
    known: tuple[str, ...]
    kind: str
    card: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def taken(self) -> list[int]:
        """The indices of `columns` in `known`."""
        return [self.known.index(name) for name in self.columns]

    def embed(self, trees: Sequence[Floats]) -> Floats:
        """Return float32[models, n, D] for n schedules, each with a row for each statement."""
        rows = np.concatenate(trees)[:, self.taken]
        statements = perceptrons(normalized(rows, self.mean, self.deviation)[None], self.embedding)
        begins = np.cumsum([0, *(len(tree) for tree in trees[:-1])])
        sums: Floats = np.add.reduceat(statements, begins, axis=1)
        return sums

    def faster(self, first: Floats, second: Floats) -> Floats:
        """Return the log-odds that the first schedules are faster, float32[...], from [models, ..., D]."""
        first, second = np.broadcast_arrays(first, second)
        one = perceptrons(np.concatenate([first, second], axis=-1), self.judge)
        other = perceptrons(np.concatenate([second, first], axis=-1), self.judge)
        odds: Floats = (one - other).mean(axis=0)[..., 0]
        return odds

    def margins(self, trees: Sequence[Floats]) -> Floats:
        """Return float32[n, n]: the log-odds that the row's schedule is faster than the column's."""
        embedded = self.embed(trees)
        return self.faster(embedded[:, :, None], embedded[:, None])

    def save(self, path: Path) -> None:
        """Write the model as an .npz file."""
        arrays: dict[str, NDArray[Any]] = {"mean": self.mean, "deviation": self.deviation}
        for name in ("embedding", "judge"):
            for number, (weight, bias) in enumerate(getattr(self, name)):
                arrays[f"{name}.{number}.weight"] = weight.astype(np.float16)
                arrays[f"{name}.{number}.bias"] = bias
        write_archive(path, arrays, {"format": FORMAT, **{name: getattr(self, name) for name in NAMES}})


def load_comparison_model(path: Path, known: tuple[str, ...], kind: str) -> ComparisonModel:
    """Read a comparison model that `save` wrote, of an expected kind, for rows with the columns `known`.

    Raises:
        InputError: the file is not such a model, or uses unknown features.
    """
    try:
        arrays, rest = read_archive(path, FORMAT)
        if rest["kind"] != kind:
            raise InputError(f"it is of kind {rest['kind']}")
        if unknown := [name for name in rest["columns"] if name not in known]:
            raise InputError(f"the model takes {unknown[0]!r}, which is no longer a feature; train it again")
        return ComparisonModel(
            rest["task"],
            rest["objective"],
            tuple(rest["columns"]),
            rest["vector_bytes"],
            arrays["mean"],
            arrays["deviation"],
            _layers(arrays, "embedding"),
            _layers(arrays, "judge"),
            known,
            kind,
            rest["card"],
        )
    except DAMAGE as error:
        raise InputError(f"{path}: not a comparison model of schedules: {error}") from None


def _layers(arrays: Mapping[str, Any], name: str) -> Layers:
    depth = sum(key.startswith(f"{name}.") and key.endswith(".weight") for key in arrays)
    pairs = ((arrays[f"{name}.{i}.weight"], arrays[f"{name}.{i}.bias"]) for i in range(depth))
    return tuple((weight.astype(np.float32), bias) for weight, bias in pairs)
