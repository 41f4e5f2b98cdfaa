"""Which sequences to try first: what a program's neighbours in the training split gained by each of them.

A policy of this kind is a table of what K sequences gained on P training programs, and a small network that
puts programs near one another for which the same sequences are good (attention over the training programs:
Vinyals et al. 2016, equation 1; Nadaraya and Watson 1964). The order in which sequences are tried is greedy:
next comes the one that is expected to add most per second to the best of those before it.

It is trained by burnish.agents.sequence_values; numpy is all that it needs here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.guide import Guide, Prior
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.policies.archive import DAMAGE, read_archive, write_archive

Floats = NDArray[np.float32]

KIND = "sequence-values"
FORMAT = 1
WORST = -1.0  # log ratio of a crash, and of all that is worse


@dataclass(frozen=True)
class SequenceValues:
    """See the module. All arrays are float32 unless they say something else.

    Attributes:
        task: Whose actions the sequences are of, such as "llvm_passes-v0".
        objective: What they gain in.
        observations: Names of arrays; side by side they are the F features.
        traces: The K sequences.
        tails: For Guide.tails.
        prior_actions: For Guide.prior.
        prior: float16[1 + n, n].
        mean, deviation: [F], of log(1 + feature).
        hidden: [F, H]; hidden_bias: [H]; output: [H, D]; output_bias: [D]: the network, with a tanh between.
        keys: [P, D], where it puts the training programs.
        gains: float16[P, K], log(reference / cost), WORST at least.
        seconds: float16[P, K], of the sequence / of the task's reference.
    """

    task: str
    objective: str
    observations: tuple[str, ...]
    traces: tuple[Trace, ...]
    tails: tuple[Trace, ...]
    prior_actions: tuple[str, ...]
    prior: NDArray[np.float16]
    mean: Floats
    deviation: Floats
    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: Floats
    keys: Floats
    gains: NDArray[np.float16]
    seconds: NDArray[np.float16]

    def __call__(self, session: Session) -> Guide:
        """Look at a program as it is opened, and say where to look first."""
        weights = self.weights(features_of(session, self.observations).astype(np.float32))
        order = greedy_order(weights, self.gains.astype(np.float32), self.seconds.astype(np.float32))
        prior = Prior(self.prior_actions, self.prior.astype(np.float64)) if self.prior_actions else None
        return Guide(tuple(self.traces[i] for i in order), self.tails, prior)

    def weights(self, features: Floats) -> Floats:
        """Return how much each training program resembles one with these features: [P], their sum is 1."""
        inputs = (np.log1p(features) - self.mean) / self.deviation
        query = np.tanh(inputs @ self.hidden + self.hidden_bias) @ self.output + self.output_bias
        scores = -np.square(self.keys - query).sum(axis=1)
        weights = np.exp(scores - scores.max())
        shares: Floats = weights / weights.sum()
        return shares

    def save(self, path: Path) -> None:
        """Write it as an .npz file: the arrays, and the rest as JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        arrays: dict[str, Any] = {name: item for name, item in values.items() if isinstance(item, np.ndarray)}
        rest = {name: value for name, value in values.items() if name not in arrays}
        rest |= {"kind": KIND, "format": FORMAT}
        write_archive(path, arrays, rest)


def load_sequence_values(path: Path) -> SequenceValues:
    """Read what `save` wrote.

    Raises:
        InputError: it is not that.
    """
    try:
        arrays, rest = read_archive(path, FORMAT)
        values = arrays | rest
        del values["format"]
        if (kind := values.pop("kind")) != KIND:
            raise InputError(f"it is of the kind {kind}")
        values |= {name: tuple(map(tuple, values[name])) for name in ("traces", "tails")}
        values |= {name: tuple(values[name]) for name in ("observations", "prior_actions")}
        return SequenceValues(**values)
    except DAMAGE as error:
        raise InputError(f"{path}: not a policy of sequence values: {error}") from None


def features_of(session: Session, observations: Sequence[str]) -> NDArray[np.float64]:
    """Return observations, arrays of numbers, side by side: float64[F]."""
    return np.concatenate([np.ravel(np.asarray(session.observe(name))) for name in observations]).astype(
        float
    )


def greedy_order(weights: Floats, gains: Floats, seconds: Floats) -> list[int]:
    """Order sequences by what each is expected to add, per second, to the best of those before it.

    The first is the one with the most gain per second over nothing being done better than the reference. When
    nothing is expected to add anything, the others follow by their mean gain.

    Args:
        weights: [P], of the programs; their sum is 1.
        gains: [P, K], log(reference / cost).
        seconds: [P, K], what a trial takes; above 0.
    """
    time = weights @ seconds
    mean = weights @ np.maximum(gains, WORST)
    best = np.zeros(len(weights), dtype=np.float32)
    left = list(range(gains.shape[1]))
    order: list[int] = []
    while left:
        added = weights @ np.maximum(gains[:, left] - best[:, None], 0)
        if added.max() <= 0:
            return order + sorted(left, key=lambda i: (-mean[i], i))
        chosen = left.pop(int(np.argmax(added / time[left])))
        order.append(chosen)
        best = np.maximum(best, gains[:, chosen])
    return order
