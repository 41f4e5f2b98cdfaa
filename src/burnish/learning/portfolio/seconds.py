"""Times of sequences relative to the reference, and the gain that a policy reaches within a time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from burnish.core.trace import Trace
from burnish.policies.sequence_values import SequenceValues, size_of

LEAST_TIME = 0.02  # in units of the reference's time: the resolution of the measurement
SHORT = 5.0  # time limit of validation, in units of the reference's time


def relative_seconds(
    traces: Sequence[Trace], seconds: NDArray[np.float64], references: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the times of trying traces, in units of the reference's time: float64[N, P], above 0.

    The reference is tried first and its final state is kept, so a trace that begins with the reference takes
    only the time of its remaining entries.

    Args:
        traces: N traces, the first of which is the reference.
        seconds: float64[N, P], times of applying the traces to P programs.
        references: float64[P], times of applying the reference.
    """
    relative = seconds / references.clip(min=1e-9)
    reference = traces[0]
    for number, trace in enumerate(traces[1:], 1):
        if trace[: len(reference)] == reference:
            relative[number] -= relative[0]
    least: NDArray[np.float64] = relative.clip(min=LEAST_TIME)
    return least


def fit_time(features: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Fit the times of sequences as functions of program size: least squares of logarithms, slopes >= 0.

    Args:
        features: [P, F], features of the programs.
        seconds: [P, K], times of the sequences, in units of the reference's time on that program; above 0.

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
    """Return the geometric mean over programs of the best reference / cost that trials within SHORT reach.

    The reference is the first trial.

    Args:
        policy: The policy, which chooses and orders the sequences.
        weights: For each of the P programs, its similarity to the policy's training programs.
        expected: For each of the P programs, the expected times of the K sequences.
        gains: [P, K], log(reference / cost).
        seconds: [P, K], in units of the reference's time.
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
