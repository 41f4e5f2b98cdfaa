"""Times of sequences, relative to the reference, and what is reached in them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from burnish.core.trace import Trace
from burnish.policies.sequence_values import SequenceValues, size_of

LEAST_TIME = 0.02  # of what the reference takes: what a clock can tell
SHORT = 5.0  # times what the reference takes: how long validation may try sequences


def relative_seconds(
    traces: Sequence[Trace], seconds: NDArray[np.float64], references: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what trying traces takes, in units of what the reference takes: float64[N, P], above 0.

    The reference is tried before all others and the state it leads to is kept: a trace that begins with it
    takes the rest only.

    Args:
        traces: N of them, the reference before all others.
        seconds: float64[N, P], of applying them to P programs.
        references: float64[P], of applying the reference.
    """
    relative = seconds / references.clip(min=1e-9)
    reference = traces[0]
    for number, trace in enumerate(traces[1:], 1):
        if trace[: len(reference)] == reference:
            relative[number] -= relative[0]
    least: NDArray[np.float64] = relative.clip(min=LEAST_TIME)
    return least


def fit_time(features: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Fit what sequences take by the size of the program: least squares of logarithms, slopes 0 and above.

    Args:
        features: [P, F], of the programs.
        seconds: [P, K], of the sequences, in units of what the reference takes there; above 0.

    Returns:
        [2, K]: SequenceValues.time.
    """
    sizes, logs = size_of(features), np.log(seconds)
    spread = sizes - sizes.mean()
    slopes = (spread @ (logs - logs.mean(axis=0)) / max(float(spread @ spread), 1e-9)).clip(min=0)
    return np.stack([logs.mean(axis=0) - slopes * sizes.mean(), slopes]).astype(np.float32)


def reached(
    policy: SequenceValues,
    weights: Sequence[NDArray[np.float32]],
    expected: Sequence[NDArray[np.float32]],
    gains: NDArray[np.float64],
    seconds: NDArray[np.float64],
) -> float:
    """Return the geometric mean, over programs, of the best that is tried within SHORT, or the reference.

    Args:
        policy: Which sequences, and in which order.
        weights: For each of the P programs, how it resembles those of the policy.
        expected: For each of them, what the K sequences are expected to take.
        gains: [P, K], log(reference / cost).
        seconds: [P, K], in units of what the reference takes.
    """
    best = []
    for shares, guess, gain, time in zip(weights, expected, gains, seconds, strict=True):
        best_gain, left = gain[0], SHORT - time[0]
        trials = policy.trials(shares, guess)
        with suppress(StopIteration):
            index = next(trials)
            while (left := left - time[index]) >= 0:
                best_gain = max(best_gain, gain[index])
                index = trials.send(float(gain[index]))
        best.append(best_gain)
    return float(np.exp(np.mean(best)))
