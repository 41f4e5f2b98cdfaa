"""Numbers that describe a state, by name, before and after some actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from burnish.core.objective import Observation
from burnish.core.task import Task
from burnish.core.view import Observed


class FeatureChange(NamedTuple):
    """A number that differs between two states."""

    name: str
    before: float
    after: float
    along: tuple[float | None, ...] = ()  # after each step of a trace, the program first; None: unknown


def named_arrays(observations: Mapping[str, Observation]) -> list[str]:
    """Return the names of the observations that are arrays of exact numbers with names."""
    return [
        name
        for name, item in observations.items()
        if item.kind == "array" and item.columns and not item.noisy and len(item.columns) == item.shape[-1]
    ]


def counted(task: Task) -> list[str]:
    """Return a task's observations for `changed`, the most readable first: counts before shares."""
    names = named_arrays(task.observations)
    return sorted(names, key=lambda name: task.observations[name].dtype.startswith("float"))


def changed(
    observation: Observation, first: Observed, second: Observed, along: Sequence[Observed | None] = ()
) -> list[FeatureChange]:
    """Return the numbers that differ between two observations, the largest relative change first.

    `along` has the observations along a trace, and None for each unknown one.
    The rows of a matrix are numbered from 1: "1: step".
    """
    before, after = (np.asarray(seen, dtype=float).ravel() for seen in (first, second))
    steps = [None if seen is None else np.asarray(seen, dtype=float).ravel() for seen in along]
    columns = list(observation.columns)
    found = []
    for i in np.flatnonzero(before != after):
        row, column = divmod(int(i), len(columns))
        name = columns[column] if len(observation.shape) == 1 else f"{row + 1}: {columns[column]}"
        values = tuple(None if step is None else float(step[i]) for step in steps)
        found.append(FeatureChange(name, float(before[i]), float(after[i]), values))
    return sorted(found, key=lambda one: -abs(one.after - one.before) / max(abs(one.before), abs(one.after)))
