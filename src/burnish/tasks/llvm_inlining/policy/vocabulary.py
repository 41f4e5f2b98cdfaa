"""Vocabularies of features, as ml-compiler-opt's generate_vocab.py writes them: a folder of NAME.buckets.

Such a file has the quantiles of one feature, a number a line, ascending. The heuristic's numbers have names
here as well: heuristic-cost.buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.files import read_text, write_atomically
from burnish.tasks.llvm_inlining.observations import FEATURES, HEURISTIC

SUFFIX = ".buckets"
NAMES = (*FEATURES, *(f"heuristic-{name}" for name in HEURISTIC))
"""The features of a question and the heuristic's numbers, in the order of its row."""
EXPECTED = "a number in each line, ascending, as ml-compiler-opt's generate_vocab.py writes them"


def write_vocabulary(folder: Path, rows: NDArray[np.int64], quantiles: int) -> None:
    """Write the quantiles of each column of rows [N, 42 or more].

    Raises:
        InputError: the folder cannot be written.
    """
    found = np.quantile(rows[:, : len(NAMES)], np.linspace(0, 1, quantiles), axis=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None
    for name, column in zip(NAMES, found.T, strict=True):
        write_atomically(folder / f"{name}{SUFFIX}", "".join(f"{value}\n" for value in column).encode())


def read_vocabulary(folder: Path, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the quantiles in the files of some names: float64[K, names], each column ascending.

    K is the largest number of lines. Files with fewer are interpolated.

    Raises:
        InputError: a file is missing, or is not a list of ascending numbers.
    """
    if missing := [name for name in names if not (folder / f"{name}{SUFFIX}").is_file()]:
        raise InputError(
            f"{folder}: {missing[0]}{SUFFIX} is missing, and {len(missing) - 1} others; "
            "`burnish inliner vocabulary` writes a file for each feature"
        )
    columns = [_column(folder / f"{name}{SUFFIX}") for name in names]
    shares = np.linspace(0, 1, max(map(len, columns)))
    return np.stack([np.quantile(column, shares) for column in columns], axis=1)


def _column(path: Path) -> NDArray[np.float64]:
    try:
        values = np.array([float(line) for line in read_text(path, EXPECTED).split()])
    except ValueError as error:
        raise InputError(f"{path}: {error}; expected {EXPECTED}") from None
    if not len(values) or not np.isfinite(values).all() or (np.diff(values) < 0).any():
        raise InputError(f"{path}: expected {EXPECTED}")
    return values
