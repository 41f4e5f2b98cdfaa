"""Encoders from a table of a training configuration.

    kind = "mixture"
    width = 128

    [parts.programl]
    kind = "gatv2"
    layers = 2

    [parts.autophase]
    kind = "mlp"

Kinds are mlp, gatv2, gine, lstm, transformer and mixture. The other keys are the fields of the kind's
configuration. An `mlp` of several observations concatenates their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import Any, TypeVar

from burnish.core.errors import InputError, UnknownName
from burnish.core.objective import Observation
from burnish.core.task import Task
from burnish.learning.networks.elements import Numbers, Vectors
from burnish.learning.networks.encoder import Encoder
from burnish.learning.networks.mixture import Mixture
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.learning.networks.sequence import LSTM, LSTMConfig, Transformer, TransformerConfig

PRESENT = "is there"  # the column that is 0 in empty rows
T = TypeVar("T")
Table = Mapping[str, Any]


def build_encoder(config: Table, task: Task, observation: str | Sequence[str] | None = None) -> Encoder:
    """Build the encoder for the observations of a task's environments.

    Args:
        config: The table; the default kind is mlp.
        task: The task, which defines observations and actions.
        observation: As in `Env`: a name, or several names for a dict; None: the task's first observation.

    Raises:
        UnknownName: a kind, key or observation is unknown.
        InputError: the kind cannot take the observation, or a value has the wrong type or range.
    """
    if isinstance(observation, str) or observation is None:
        return _of_one(config, task, task.observation(observation))
    observed = [task.observation(name) for name in dict.fromkeys(observation)]
    kind = config.get("kind", "mlp")
    if kind == "mixture":
        return _mixture(config, task, observed)
    if kind == "mlp":
        names = tuple(item.name for item in observed)
        return MLP(_config(MLPConfig, config), sum(_features(item) for item in observed), names)
    raise InputError(
        f"network: {kind} takes one observation, not {len(observed)}; mixture and mlp take several"
    )


def _of_one(config: Table, task: Task, observation: Observation) -> Encoder:
    kind = config.get("kind", "mlp")
    if kind == "mixture":
        raise InputError(f"network: a mixture takes a list of observations; write [{observation.name!r}]")
    if kind not in _ENCODERS:
        raise UnknownName.among("kind of network", str(kind), (*_ENCODERS, "mixture"))
    return _ENCODERS[kind](config, task, observation)


def _mixture(config: Table, task: Task, observed: Sequence[Observation]) -> Encoder:
    parts = config.get("parts", {})
    names = [item.name for item in observed]
    unknown = [key for key in config if key not in ("kind", "width", "parts")]
    if unknown:
        raise UnknownName.among("key of a mixture", unknown[0], ("kind", "width", "parts"))
    for name in parts:
        if name not in names:
            raise UnknownName.among("observed part", name, names)
    missing = [name for name in names if name not in parts]
    if missing:
        raise InputError(f"network: no part encodes {missing[0]!r}; add a table [network.parts.{missing[0]}]")
    return Mixture(
        {item.name: _of_one(parts[item.name], task, item) for item in observed}, config.get("width", 128)
    )


def _mlp(config: Table, task: Task, observation: Observation) -> Encoder:
    return MLP(_config(MLPConfig, config), _features(observation))


def _graph(config: Table, task: Task, observation: Observation) -> Encoder:
    if observation.kind != "graph":
        raise _unfit(config["kind"], observation)
    # Imported here, because PyTorch Geometric takes longer to import than torch.
    from burnish.learning.networks.graph_encoder import GraphConfig, GraphEncoder

    return GraphEncoder(_config(GraphConfig, config, layer=config["kind"]), observation.columns)


def _lstm(config: Table, task: Task, observation: Observation) -> Encoder:
    return LSTM(_config(LSTMConfig, config), _elements("lstm", task, observation))


def _transformer(config: Table, task: Task, observation: Observation) -> Encoder:
    return Transformer(_config(TransformerConfig, config), _elements("transformer", task, observation))


_ENCODERS: dict[str, Callable[[Table, Task, Observation], Encoder]] = {
    "mlp": _mlp,
    "gatv2": _graph,
    "gine": _graph,
    "lstm": _lstm,
    "transformer": _transformer,
}


def _features(observation: Observation) -> int:
    if observation.kind != "array":
        raise _unfit("mlp", observation)
    return prod(observation.shape)


def _elements(kind: str, task: Task, observation: Observation) -> Numbers | Vectors:
    """Return the elements of a sequence: numbers of a vocabulary, or the rows of a matrix."""
    if observation.name == "trace":
        return Numbers(int(observation.high) + 1, padding=0)  # for all actions, even if some are left out
    rows = {"sequence": 1, "array": 2}.get(observation.kind)
    if rows and len(observation.shape) == rows and len(observation.columns) == observation.shape[-1]:
        columns = observation.columns
        return Vectors(len(columns), list(columns).index(PRESENT) if PRESENT in columns else None)
    if observation.kind != "sequence" or observation.shape or observation.high == float("inf"):
        raise _unfit(kind, observation)
    return Numbers(int(observation.high) + 1)


def _unfit(kind: str, observation: Observation) -> InputError:
    takes = {"mlp": "arrays", "gatv2": "graphs", "gine": "graphs"}.get(
        kind, "sequences of numbers, matrices of columns, and 'trace'"
    )
    return InputError(f"network: {kind} takes {takes}; {observation.name!r} is of kind {observation.kind!r}")


def _config(kind: type[T], table: Table, **derived: Any) -> T:
    """Return a configuration from a table's keys other than `kind`."""
    known = {field.name for field in fields(kind)} - derived.keys()  # type: ignore[arg-type]
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}
    values.pop("kind", None)
    for name in values:
        if name not in known:
            raise UnknownName.among(f"key of {kind.__name__}", name, sorted(known))
    try:
        return kind(**values, **derived)
    except TypeError as error:  # a text where a number should be
        raise InputError(f"network: {dict(table)}: {error}") from None
