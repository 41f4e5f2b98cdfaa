"""Programs as sequences of tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.program import Program
from burnish.llvm.representations.modules import module_of
from burnish.llvm.representations.vocabulary import FUNCTION, Vocabulary, shipped_vocabulary


def tokens(program: Program | _native.Module, *, vocabulary: Vocabulary | None = None) -> NDArray[np.int64]:
    """Return int64[functions + instructions]: in module order, a function's marker, then its instructions.

    The tokens' texts are those of the program graph's instruction nodes.
    """
    numbers, texts = module_of(program).instruction_sequence()
    return (vocabulary or shipped_vocabulary()).lookup(texts)[numbers]


def by_function(
    sequence: NDArray[np.int64], *, vocabulary: Vocabulary | None = None
) -> list[NDArray[np.int64]]:
    """Split a sequence from `tokens` into one per function with a body, in module order."""
    marker = (vocabulary or shipped_vocabulary()).lookup([FUNCTION])[0]
    return np.split(sequence, np.flatnonzero(sequence == marker)[1:]) if len(sequence) else []
