"""Bigram model of actions, fitted to traces with a gain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from burnish.core.guide import Prior
from burnish.core.trace import Trace

UNIFORM = 0.1  # share of the uniform distribution in every row, so that no action has probability 0
PSEUDOCOUNT = 4.0  # weight of the unigram distribution in every row, in observations


def fit_prior(actions: Sequence[str], traces: Iterable[tuple[Trace, float]]) -> Prior:
    """Fit a bigram model, smoothed by the unigrams and these by the uniform distribution.

    (Dirichlet smoothing: MacKay and Peto 1995, equation 22.)

    Args:
        actions: The n actions.
        traces: Each with its weight, such as its log ratio. The mean weight counts as one observation; traces
            with a weight of 0 or below are ignored.
    """
    index = {action: i for i, action in enumerate(actions)}
    kept = [(trace, weight) for trace, weight in traces if weight > 0]
    mean = sum(weight for _, weight in kept) / max(len(kept), 1)
    counts = np.zeros((1 + len(actions), len(actions)))
    for trace, weight in kept:
        before = 0
        for action in trace:
            counts[before, index[action]] += weight / mean
            before = 1 + index[action]
    alone = counts.sum(axis=0) + 1 / len(actions)
    alone /= alone.sum()
    rows = (counts + PSEUDOCOUNT * alone) / (counts.sum(axis=1, keepdims=True) + PSEUDOCOUNT)
    return Prior(tuple(actions), (1 - UNIFORM) * rows + UNIFORM / len(actions))
