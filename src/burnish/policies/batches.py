"""Batches: observations of several environments as the arrays that networks take.

The module needs no torch, so training and all runtimes of trained policies batch with the same code. A
batching method is a value (`Inputs`), so that it can be stored with its network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import GraphArrays

Batch: TypeAlias = "NDArray[Any] | dict[str, Batch]"


@dataclass(frozen=True)
class Features:
    """Feature vectors; if observations are dicts, the vectors of some names are concatenated."""

    names: tuple[str, ...] = ()  # empty: the observation is an array

    def batch(self, observations: Sequence[Any]) -> NDArray[np.float32]:
        """Return float32[B, features]."""
        if self.names:
            columns = [_rows([observed[name] for observed in observations]) for name in self.names]
            return np.concatenate(columns, axis=1)
        return _rows(observations)


@dataclass(frozen=True)
class Graphs:
    """Graphs with the same node columns, as GraphArrays or Gymnasium's GraphInstance."""

    def batch(self, observations: Sequence[Any]) -> Batch:
        """Return all graphs as one graph with N nodes and E edges, those of the first graph first.

        nodes int64[N, columns], links int64[2, E] (sources, targets), flow int64[E], position int64[E],
        graph int64[N] (the index of each node's graph), sizes int64[B] (the number of nodes of each graph).
        """
        parts = [_nodes_and_edges(observed) for observed in observations]
        sizes = np.array([len(nodes) for nodes, _, _ in parts], dtype=np.int64)
        first = np.cumsum(sizes) - sizes
        links = np.concatenate([links + start for (_, links, _), start in zip(parts, first, strict=True)])
        attributes = np.concatenate([attributes for _, _, attributes in parts])
        return {
            "nodes": np.concatenate([nodes for nodes, _, _ in parts]),
            "links": np.ascontiguousarray(links.T),
            "flow": np.ascontiguousarray(attributes[:, 0]),
            "position": np.ascontiguousarray(attributes[:, 1]),
            "graph": np.repeat(np.arange(len(parts)), sizes),
            "sizes": sizes,
        }


@dataclass(frozen=True)
class Sequences:
    """Sequences of numbers from 0; the last `length` numbers are used."""

    length: int
    padding: int | None = None  # a number that is ignored at a sequence's end

    def batch(self, observations: Sequence[Any]) -> Batch:
        """Return lengths int64[B] and numbers int64[B, L], 0 after the end; L >= 1 is the longest."""
        rows = [self._kept(np.asarray(observed, dtype=np.int64)) for observed in observations]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        numbers = np.zeros((len(rows), max(1, lengths.max(initial=0))), dtype=np.int64)
        for target, row in zip(numbers, rows, strict=True):
            target[: len(row)] = row
        return {"numbers": numbers, "lengths": lengths}

    def _kept(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.padding is not None:
            some = np.flatnonzero(row != self.padding)
            row = row[: some[-1] + 1] if len(some) else row[:0]
        return row[-self.length :]


@dataclass(frozen=True)
class Rows:
    """Sequences of rows of numbers; the last `length` rows are used."""

    columns: int
    length: int
    there: int | None = None  # the column that is 0 in empty rows, which are ignored

    def batch(self, observations: Sequence[Any]) -> Batch:
        """Return lengths int64[B] and rows float32[B, L, columns], 0 after the end; L >= 1 is the longest."""
        kept = [self.kept(observed) for observed in observations]
        lengths = np.array([len(one) for one in kept], dtype=np.int64)
        rows = np.zeros((len(kept), max(1, lengths.max(initial=0)), self.columns), dtype=np.float32)
        for target, one in zip(rows, kept, strict=True):
            target[: len(one)] = one
        return {"rows": rows, "lengths": lengths}

    def kept(self, observed: Any) -> NDArray[np.float32]:
        """Return the rows that are used: float32[rows, columns]."""
        rows = np.asarray(observed, dtype=np.float32).reshape(-1, self.columns)
        if self.there is not None:
            rows = rows[rows[:, self.there] != 0]
        return rows[-self.length :]


@dataclass(frozen=True)
class Parts:
    """Observations that are dicts, with a batching method for each name."""

    parts: Mapping[str, Inputs]

    def batch(self, observations: Sequence[Any]) -> Batch:
        """Return each name's batch."""
        return {
            name: inputs.batch([observed[name] for observed in observations])
            for name, inputs in self.parts.items()
        }


Inputs: TypeAlias = Features | Graphs | Sequences | Rows | Parts
_KINDS: Final = {"features": Features, "graphs": Graphs, "sequences": Sequences, "rows": Rows}


def flat(batch: Batch, name: str = "") -> dict[str, NDArray[Any]]:
    """Return a batch's arrays by name: `features` or `nodes`; for parts, `autophase` or `programl.nodes`."""
    if not isinstance(batch, dict):
        return {name or "features": batch}
    prefix = f"{name}." if name else ""
    return {key: array for part, inner in batch.items() for key, array in flat(inner, prefix + part).items()}


def inputs_to_table(inputs: Inputs) -> dict[str, Any]:
    """Return a batching method as a dict for JSON, which `inputs_from_table` reads."""
    if isinstance(inputs, Parts):
        return {
            "kind": "parts",
            "parts": {name: inputs_to_table(part) for name, part in inputs.parts.items()},
        }
    return {"kind": type(inputs).__name__.lower(), **asdict(inputs)}


def inputs_from_table(table: Mapping[str, Any]) -> Inputs:
    """Return the batching method that `inputs_to_table` was given.

    Raises:
        InputError: `table` does not describe a batching method.
    """
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
    }
    kind = values.pop("kind", None)
    try:
        if kind == "parts":
            return Parts({name: inputs_from_table(part) for name, part in values.pop("parts").items()})
        if kind not in _KINDS:
            raise UnknownName.among("kind of inputs", str(kind), (*_KINDS, "parts"))
        made: Inputs = _KINDS[kind](**values)
        return made
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(f"not a description of a network's inputs: {dict(table)}: {error}") from None


def _rows(observations: Sequence[Any]) -> NDArray[np.float32]:
    return np.stack([np.asarray(row, dtype=np.float32).ravel() for row in observations])


def _nodes_and_edges(observed: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return a graph's nodes, its links [E, 2], and flow and position [E, 2]."""
    if isinstance(observed, GraphArrays):
        return observed.nodes, observed.edges[:, :2], observed.edges[:, 2:]
    return observed.nodes, observed.edge_links, observed.edges
