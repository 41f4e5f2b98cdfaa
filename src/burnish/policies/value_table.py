"""Policies that are tables: the value of each action in each state seen in training.

burnish.learning.agents.tabular learns them; burnish.learning.training.export_best writes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.policies.choose import Floats, Mask, masked_log_softmax
from burnish.policies.npz import DAMAGE, read_archive, write_archive

KIND: Final = "q-table"
FORMAT: Final = 1
KEY_BYTES: Final = 16
TEMPERATURE: Final = 0.1  # an action with a value lower by this is e times less probable


@dataclass(frozen=True, eq=False)
class TablePolicy:
    """A table as an ActionPolicy; in an unseen state, all legal actions are equally probable."""

    actions: tuple[str, ...]
    rows: Mapping[bytes, NDArray[np.float64]]  # by `state_key`: the values of the n actions
    initial_value: float = 0.0  # of actions in unseen states
    card: Mapping[str, Any] = field(default_factory=dict)  # metadata; see ActionPolicy

    def log_probs(self, observations: Sequence[Any], masks: Mask) -> Floats:
        """See ActionPolicy."""
        unseen = np.full(len(self.actions), self.initial_value)
        values = np.array([self.rows.get(state_key(seen), unseen) for seen in observations])
        best = np.where(masks, values, -np.inf).max(axis=1, keepdims=True)
        return masked_log_softmax(((values - best) / TEMPERATURE).astype(np.float32), masks)

    def evaluate(self, observations: Sequence[Any], masks: Mask) -> tuple[Floats, Floats]:
        """See ActionPolicy; a table has no critic.

        Raises:
            InputError: always.
        """
        raise InputError("a table has no critic")


def save_table(path: Path, policy: TablePolicy) -> None:
    """Write a table to a file."""
    keys = np.frombuffer(b"".join(policy.rows), dtype=np.uint8).reshape(-1, KEY_BYTES)
    values = np.array(list(policy.rows.values())).reshape(-1, len(policy.actions))
    rest = {"kind": KIND, "format": FORMAT, "actions": list(policy.actions), "card": dict(policy.card)}
    rest["initial_value"] = policy.initial_value
    write_archive(path, {"keys": keys, "values": values}, rest)


def load_table(path: Path) -> TablePolicy:
    """Read a table that `save_table` wrote.

    Raises:
        InputError: the file is not such a table.
    """
    try:
        arrays, rest = read_archive(path, FORMAT)
        pairs = zip(arrays["keys"], arrays["values"], strict=True)
        rows = {key.tobytes(): row for key, row in pairs}
        return TablePolicy(tuple(rest["actions"]), rows, float(rest["initial_value"]), rest["card"])
    except DAMAGE as error:
        raise InputError(f"{path}: not a policy's table: {error}") from None


def state_key(observation: Any) -> bytes:
    """Return a hash of KEY_BYTES of an observation: an array, a graph, a text, or a mapping to those."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for part in _parts(observation):
        digest.update(part)
    return digest.digest()


def _parts(observation: Any) -> Iterator[bytes]:
    """Yield an observation's bytes; different observations yield different bytes."""
    if isinstance(observation, Mapping):
        for name, value in sorted(observation.items()):
            yield name.encode() + b"\0"
            yield from _parts(value)
    elif isinstance(observation, tuple):
        for value in observation:
            yield from _parts(value)
    else:
        array = np.asarray(observation)
        yield f"{array.dtype.str} {array.shape} ".encode()
        yield array.tobytes()
