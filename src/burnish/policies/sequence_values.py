"""Policies that order sequences by the gains of similar training programs.

The policy has a table of the gains of K sequences on P training programs. A small network embeds programs so
that programs with the same good sequences are near each other (attention over the training programs: Vinyals
et al. 2016, equation 1; Nadaraya and Watson 1964). The next sequence is the one with the largest expected
improvement on the best so far (Mockus et al. 1978) per second. The expectation is over the training programs
by their weights. Each measured gain changes the weights: a training program on which the sequence gained
something else loses weight.

A policy may have training programs of several machines, on which sequences pay differently. A program is then
compared with those of its own machine, and with those that count for all machines.

burnish.learning.portfolio.network trains these policies; running them needs only numpy.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
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
WORST = -1.0  # log ratio of a crash, and the lower limit of all other log ratios
SPREAD = 0.02  # scale of the difference in log ratios between similar programs
EVEN = 0.5  # share of the weights that is uniform, because gains say more than a program's features
MACHINE = "machine"  # the observation that tells a program's machine, one 1 among 0s
OWN = 3  # the weight of a training program of the same machine; one that counts for all machines has 1


@dataclass(frozen=True)
class SequenceValues:
    """See the module. Arrays are float32 unless noted.

    Attributes:
        task: The task of the sequences' actions, such as "llvm_passes-v1".
        objective: The objective in which the gains are measured.
        observations: The task's observations that, concatenated, are the F features.
        traces: The K sequences; the first one is the reference.
        suffixes: For Guide.suffixes.
        prior_actions: The actions of Guide.prior.
        prior: float16[1 + n, n], the probabilities of Guide.prior.
        mean, deviation: [F], of log(1 + feature).
        hidden: [F, H]; hidden_bias: [H]; output: [H, D]; output_bias: [D]: the network, with a tanh between.
        keys: [P, D], the embeddings of the training programs.
        gains: float16[P, K], log(reference / cost), WORST at least.
        time: [2, K]: log(seconds of the sequence / of the task's reference) is time[0] + time[1] * size, and
            size is log(1 + the sum of the features).
        machines: uint8[P, M], the observation "machine" of each training program, 0s for one that counts for
            all machines; empty if all do.
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
    machines: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))

    def __call__(self, session: Session) -> Guide:
        """Return the guide for a program that was just opened."""
        if self.machines.size:
            return self.for_machine(np.asarray(session.observe(MACHINE)))(session)
        features = features_of(session, self.observations).astype(np.float32)
        prior = Prior(self.prior_actions, self.prior.astype(np.float64)) if self.prior_actions else None
        best = self.best(self.weights(features))
        return Guide(
            self._initial_traces(features), self.suffixes, prior, choice=self.traces[best] if best else None
        )

    def for_machine(self, machine: NDArray[np.integer[Any]]) -> SequenceValues:
        """Return the policy for programs of one machine; its training programs are those that count there.

        Args:
            machine: [M], the observation "machine".
        """
        of_all = ~self.machines.any(axis=1)
        own = (self.machines == machine).all(axis=1) & ~of_all
        rows = np.concatenate([np.flatnonzero(of_all), np.repeat(np.flatnonzero(own), OWN)])
        alike: NDArray[np.uint8] = np.zeros((0, 0), dtype=np.uint8)
        return replace(self, keys=self.keys[rows], gains=self.gains[rows], machines=alike)

    def best(self, weights: Floats) -> int:
        """Return the index of the sequence with the largest expected gain: 0, the reference, if none gains.

        It is the sequence to take without a measurement. `trials` orders sequences by what they add to the
        best that was measured, for their time.

        Args:
            weights: [P], see `trials`.
        """
        return int(np.argmax(_shares(weights) @ self.gains.astype(np.float32)))

    def distance(self, task: Task) -> float:
        """Return the number of actions that are only in the task or only in the training; 0 if unknown."""
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
        """Yield the indices of all sequences but the first, the reference, in the order to try them.

        The caller sends back each sequence's gain, log(reference / cost), or None if it is unknown.

        Args:
            weights: [P], the similarity of each training program to this one; the sum is 1.
            seconds: [K], the times of the sequences, in any unit.
        """
        gains = self.gains.astype(np.float32)
        scores = np.log(_shares(weights))
        best = np.float32(0.0)
        left = list(range(1, len(self.traces)))
        while left:
            shares = np.exp(scores - scores.max())
            added = shares @ np.maximum(gains[:, left] - best, 0)
            if added.max() <= 0:  # no sequence is expected to improve: use the mean gain instead
                added = shares @ (gains[:, left] - WORST)
            index = left.pop(int(np.argmax(added / seconds[left])))
            gain = yield index
            if gain is not None:
                best = max(best, np.float32(gain))
                # Cauchy's distribution has heavy tails: one surprise does not rule a program out
                scores -= np.log1p(np.square((gains[:, index] - gain) / SPREAD))

    def weights(self, features: Floats) -> Floats:
        """Return the similarity of each training program to one with these features: [P], the sum is 1."""
        scores = -np.square(self.keys - self.embedded(features)).sum(axis=1)
        weights = np.exp(scores - scores.max())
        shares: Floats = weights / weights.sum()
        return shares

    def embedded(self, features: Floats) -> Floats:
        """Return the embeddings of programs: [..., D] for features [..., F]."""
        inputs = (np.log1p(features) - self.mean) / self.deviation
        found: Floats = np.tanh(inputs @ self.hidden + self.hidden_bias) @ self.output + self.output_bias
        return found

    def seconds(self, features: Floats) -> Floats:
        """Return the expected times of the sequences, in units of the reference's time: [K].

        They depend on the program's size and not on similar training programs, because some passes are slow
        on programs that are larger than any of the training.
        """
        expected: Floats = np.exp(self.time[0] + self.time[1] * size_of(features))
        return expected

    def save(self, path: Path) -> None:
        """Write the policy as an .npz file: the arrays, and the other attributes as JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        arrays: dict[str, Any] = {name: item for name, item in values.items() if isinstance(item, np.ndarray)}
        rest = {name: value for name, value in values.items() if name not in arrays}
        rest |= {"kind": KIND, "format": FORMAT}
        write_archive(path, arrays, rest)


def load_sequence_values(path: Path) -> SequenceValues:
    """Read a policy that `save` wrote.

    Raises:
        InputError: the file is not such a policy.
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
    """Read a policy that `save` wrote, for a task; see burnish.policies.find.

    Raises:
        InputError: the file is not such a policy, or is for another task.
    """
    policy = load_sequence_values(path)
    if policy.task != task.id:
        raise InputError(
            f"{path}: the policy was trained for {policy.task}, not for {task.id}; train it again"
        )
    return policy


def _shares(weights: Floats) -> Floats:
    """Return the weights of training programs with the part that all of them get: [P], the sum is 1."""
    return (1 - EVEN) * weights + EVEN / len(weights)


def size_of(features: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return log(1 + the sum of a program's features): [...] for features [..., F]."""
    sizes: NDArray[np.float32] = np.log1p(features.sum(axis=-1)).astype(np.float32)
    return sizes


def features_of(session: Session, observations: Sequence[str]) -> NDArray[np.float64]:
    """Return the concatenation of observations that are arrays of numbers: float64[F]."""
    return np.concatenate([np.ravel(np.asarray(session.observe(name))) for name in observations]).astype(
        float
    )


def _gain(reference: float | None, cost: float | None) -> float | None:
    """Return log(reference / cost), WORST at least; None if either is unknown or the reference failed."""
    if reference is None or cost is None or math.isinf(reference):
        return None
    return WORST if math.isinf(cost) else max(WORST, math.log(reference / cost))
