"""The cost model, which predicts a schedule's time by a small network over features, and its policy.

seconds(tree) = sum over its statements s of 2^(f(features of s) + scale(s)). f is the mean of several
perceptrons, scale the sum of the columns SCALE. burnish.tasks.tensors.train.fitting trains them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.guide import Guide, InitialTraces
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.policies.npz import DAMAGE, read_archive, write_archive
from burnish.tasks.tensors.machine import host

FORMAT: Final = 2

Floats = NDArray[np.float32]
Layers = tuple[tuple[Floats, Floats], ...]
"""Perceptrons: weights float[models, inputs, outputs] and biases float[models, 1, outputs] of each layer."""
SCALE = ("iterations", "operations of one", "detour through memory")  # log2 columns; time is proportional
LEAST_DEVIATION: Final = 1e-3  # added to deviations in training: a column that never varies has exactly this


@dataclass(frozen=True, eq=False)
class CostModel:
    """A cost model, with the scales of its features.

    Attributes:
        task: The id of the task.
        objective: The objective that is predicted.
        columns: The features that the model uses, some of `known`.
        vector_bytes: The size of vectors on the machine that was measured.
        mean: float32[F], the mean of each feature in training.
        deviation: float32[F], the standard deviation plus LEAST_DEVIATION.
        layers: Those of f.
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
    layers: Layers
    known: tuple[str, ...]
    kind: str
    card: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def taken(self) -> list[int]:
        """The indices of `columns` in `known`."""
        return [self.known.index(name) for name in self.columns]

    def statements(self, rows: Floats) -> Floats:
        """Return log2 of the seconds of statements: float32[N], for rows float32[N, len(known)]."""
        x = perceptrons(normalized(rows[:, self.taken], self.mean, self.deviation)[None], self.layers)
        result: Floats = x.mean(axis=0)[:, 0] + rows[:, scale_of(self.known)].sum(axis=1)
        return result

    def log2_seconds(self, trees: Sequence[Floats]) -> Floats:
        """Return log2 of the seconds of schedules: float32[n], for n arrays with a row for each statement."""
        if not trees:
            return np.zeros(0, dtype=np.float32)
        counts = [len(rows) for rows in trees]
        seconds = np.exp2(self.statements(np.concatenate(trees)).astype(np.float64))
        sums = np.add.reduceat(seconds, np.cumsum([0, *counts[:-1]]))
        return np.log2(sums).astype(np.float32)

    def margins(self, trees: Sequence[Floats]) -> Floats:
        """Return float32[n, n]: log2 of how many times faster the row's schedule is than the column's."""
        predicted = self.log2_seconds(trees)
        return predicted[None, :] - predicted[:, None]

    def save(self, path: Path) -> None:
        """Write the model as an .npz file."""
        arrays: dict[str, NDArray[Any]] = {"mean": self.mean, "deviation": self.deviation}
        for number, (weight, bias) in enumerate(self.layers):
            arrays |= {f"{number}.weight": weight.astype(np.float16), f"{number}.bias": bias}
        names = ("kind", "task", "objective", "columns", "vector_bytes", "card")
        write_archive(path, arrays, {"format": FORMAT, **{name: getattr(self, name) for name in names}})


def normalized(rows: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Return rows as inputs of a network.

    Columns that never varied in training are set to 0, because the network learned nothing from them.
    """
    normal = np.clip((rows - mean) / deviation, -6, 6)
    return np.where(deviation > 1.01 * LEAST_DEVIATION, normal, np.float32(0))


def perceptrons(x: Floats, layers: Layers) -> Floats:
    """Apply several perceptrons at once: float32[models or 1, ..., inputs] to [models, ..., outputs]."""
    shape = x.shape[1:-1]
    x = x.reshape(len(x), -1, x.shape[-1])
    for number, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if number + 1 < len(layers):
            x = np.maximum(x, 0)
    return x.reshape(len(x), *shape, x.shape[-1])


def scale_of(known: Sequence[str]) -> list[int]:
    """Return the indices in `known` of the columns of SCALE that it has."""
    return [known.index(name) for name in SCALE if name in known]


def load_cost_model(path: Path, known: tuple[str, ...], kind: str) -> CostModel:
    """Read a cost model that `save` wrote, of an expected kind, for rows with the columns `known`.

    Raises:
        InputError: the file is not such a model, or uses unknown features.
    """
    try:
        arrays, rest = read_archive(path, FORMAT)
        if rest["kind"] != kind:
            raise InputError(f"it is of kind {rest['kind']}")
        if unknown := [name for name in rest["columns"] if name not in known]:
            raise InputError(f"the model takes {unknown[0]!r}, which is no longer a feature; train it again")
        depth = sum(name.endswith(".weight") for name in arrays)
        pairs = ((arrays[f"{number}.weight"], arrays[f"{number}.bias"]) for number in range(depth))
        return CostModel(
            rest["task"],
            rest["objective"],
            tuple(rest["columns"]),
            rest["vector_bytes"],
            arrays["mean"],
            arrays["deviation"],
            tuple((weight.astype(np.float32), bias) for weight, bias in pairs),
            known,
            kind,
            rest["card"],
        )
    except DAMAGE as error:
        raise InputError(f"{path}: not a cost model of schedules: {error}") from None


class ScheduleModel(Protocol):
    """A model of schedules in a file: a cost model, or one that compares."""

    @property
    def task(self) -> str:
        """The id of the task."""

    @property
    def objective(self) -> str:
        """The objective that is predicted."""

    @property
    def vector_bytes(self) -> int:
        """The size of vectors on the machine that was measured."""


Propose = Callable[[Session, Any], InitialTraces]
"""A function that proposes schedules of the session's program, most promising first."""
Predict = Callable[[Any, Session], float]
"""A function that predicts the cost of a session's state: see Guide.predicted_cost."""


@dataclass(frozen=True)
class SchedulePolicy:
    """Guides for searches of schedules."""

    model: ScheduleModel
    propose: Propose
    predict: Predict | None = None

    @property
    def objective(self) -> str:
        """The objective that the model predicts."""
        return self.model.objective

    def __call__(self, session: Session) -> Guide:
        """Return a guide that proposes schedules of the session's program."""
        predict = partial(self.predict, self.model) if self.predict else None
        return Guide(self.propose(session, self.model), predicted_cost=predict, searches=True)

    def distance(self, _task: Task) -> float:
        """Return the distance from the measured machine to this one: log2 of the ratio of vector sizes."""
        return abs(math.log2(self.model.vector_bytes / host().vector_bytes))


def load_policy(
    path: Path,
    task: Task,
    known: tuple[str, ...],
    kind: str,
    propose: Propose,
    predict: Predict | None = None,
    load: Callable[[Path, tuple[str, ...], str], ScheduleModel] = load_cost_model,
) -> SchedulePolicy:
    """Read a model as a policy for a task; see `load_cost_model`.

    Raises:
        InputError: the file is not such a model, or is for another task.
    """
    model = load(path, known, kind)
    if model.task != task.id:
        raise InputError(f"{path}: a policy for {model.task}, and this is {task.id}; train it anew")
    return SchedulePolicy(model, propose, predict)
