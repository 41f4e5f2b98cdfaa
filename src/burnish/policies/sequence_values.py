"""Which sequences to try first: what a program's neighbours in the training split gained by each of them.

A policy of this kind is a table of what K sequences gained on P training programs, and a small network that
puts programs near one another for which the same sequences are good (attention over the training programs:
Vinyals et al. 2016, equation 1; Nadaraya and Watson 1964). What is tried next is the sequence with the most
expected improvement (Mockus et al. 1978) per second on the best so far, the expectation being over the
training programs by their weights. What a sequence then gains changes the weights: programs on which it
gained something else resemble this one less than they seemed to.

It is trained by burnish.learning.portfolio.network; numpy is all that it needs here.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.guide import Guide, InitialTraces, Prior
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.policies.npz import DAMAGE, read_archive, write_archive

Floats = NDArray[np.float32]

KIND = "sequence-values"
FORMAT = 3
WORST = -1.0  # log ratio of a crash, and of all that is worse
SPREAD = 0.02  # of log ratios, between programs that are alike
EVEN = 0.5  # of the weights is shared out evenly: outcomes say more than what a program looks like


@dataclass(frozen=True)
class SequenceValues:
    """See the module. All arrays are float32 unless they say something else.

    Attributes:
        task: Whose actions the sequences are of, such as "llvm_passes-v1".
        objective: What they gain in.
        observations: Names of arrays; side by side they are the F features.
        traces: The K sequences.
        suffixes: For Guide.suffixes.
        prior_actions: For Guide.prior.
        prior: float16[1 + n, n].
        mean, deviation: [F], of log(1 + feature).
        hidden: [F, H]; hidden_bias: [H]; output: [H, D]; output_bias: [D]: the network, with a tanh between.
        keys: [P, D], where it puts the training programs.
        gains: float16[P, K], log(reference / cost), WORST at least.
        time: [2, K]: log(seconds of the sequence / of the task's reference) is time[0] + time[1] * size, and
            size is log(1 + the sum of the features).
    """

    task: str
    objective: str
    observations: tuple[str, ...]
    traces: tuple[Trace, ...]
    suffixes: tuple[Trace, ...]
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
    time: Floats

    def __call__(self, session: Session) -> Guide:
        """Look at a program as it is opened, and say where to look first."""
        features = features_of(session, self.observations).astype(np.float32)
        prior = Prior(self.prior_actions, self.prior.astype(np.float64)) if self.prior_actions else None
        return Guide(self._initial_traces(features), self.suffixes, prior)

    def distance(self, task: Task) -> float:
        """Return how many actions the task has and the training had not, or the other way round."""
        return len(set(task.actions) ^ set(self.prior_actions)) if self.prior_actions else 0

    def _initial_traces(self, features: Floats) -> InitialTraces:
        reference = yield self.traces[0]
        trials = self.trials(self.weights(features), self.seconds(features))
        with suppress(StopIteration):
            index = next(trials)
            while True:
                cost = yield self.traces[index]
                index = trials.send(_gain(reference, cost))

    def trials(self, weights: Floats, seconds: Floats) -> Generator[int, float | None, None]:
        """Yield the sequences but the first, which is the reference, in the order to try them.

        It is sent what each gained, log(reference / cost), or None where that is not known.

        Args:
            weights: [P], how much each training program resembles the one at hand; their sum is 1.
            seconds: [K], what the sequences take, in any unit.
        """
        gains = self.gains.astype(np.float32)
        scores = np.log((1 - EVEN) * weights + EVEN / len(weights))
        best = np.float32(0.0)
        left = list(range(1, len(self.traces)))
        while left:
            shares = np.exp(scores - scores.max())
            added = shares @ np.maximum(gains[:, left] - best, 0)
            if added.max() <= 0:  # nothing is expected to be better: the best on the mean
                added = shares @ (gains[:, left] - WORST)
            index = left.pop(int(np.argmax(added / seconds[left])))
            gain = yield index
            if gain is not None:
                best = max(best, np.float32(gain))
                # by Cauchy's distribution: one surprise does not rule a program out
                scores -= np.log1p(np.square((gains[:, index] - gain) / SPREAD))

    def weights(self, features: Floats) -> Floats:
        """Return how much each training program resembles one with these features: [P], their sum is 1."""
        inputs = (np.log1p(features) - self.mean) / self.deviation
        query = np.tanh(inputs @ self.hidden + self.hidden_bias) @ self.output + self.output_bias
        scores = -np.square(self.keys - query).sum(axis=1)
        weights = np.exp(scores - scores.max())
        shares: Floats = weights / weights.sum()
        return shares

    def seconds(self, features: Floats) -> Floats:
        """Return what the sequences are expected to take, in units of what the reference takes: [K].

        By its size, and not by its neighbours: some passes are slow on programs larger than all of these.
        """
        expected: Floats = np.exp(self.time[0] + self.time[1] * size_of(features))
        return expected

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
            raise InputError(f"its kind is {kind!r}")
        values |= {name: tuple(map(tuple, values[name])) for name in ("traces", "suffixes")}
        values |= {name: tuple(values[name]) for name in ("observations", "prior_actions")}
        return SequenceValues(**values)
    except DAMAGE as error:
        raise InputError(f"{path}: not a policy of sequence values: {error}") from None


def load_for(path: Path, task: Task) -> SequenceValues:
    """Read what `save` wrote, for a task; see burnish.policies.find.

    Raises:
        InputError: it is not that, or for another task.
    """
    policy = load_sequence_values(path)
    if policy.task != task.id:
        raise InputError(
            f"{path}: the policy was trained for {policy.task}, not for {task.id}; train it again"
        )
    return policy


def size_of(features: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return log(1 + the sum of a program's features), [...] of [..., F]."""
    sizes: NDArray[np.float32] = np.log1p(features.sum(axis=-1)).astype(np.float32)
    return sizes


def features_of(session: Session, observations: Sequence[str]) -> NDArray[np.float64]:
    """Return observations, arrays of numbers, side by side: float64[F]."""
    return np.concatenate([np.ravel(np.asarray(session.observe(name))) for name in observations]).astype(
        float
    )


def _gain(reference: float | None, cost: float | None) -> float | None:
    """Return log(reference / cost), WORST at least; None where one is not known, or the reference failed."""
    if reference is None or cost is None or math.isinf(reference):
        return None
    return WORST if math.isinf(cost) else max(WORST, math.log(reference / cost))
