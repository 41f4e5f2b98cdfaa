"""Runs by the size of their input, for kernels and workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Run


def read_runs(arguments: Mapping[str, str], outputs: Mapping[str, str]) -> tuple[Run, ...]:
    """Return a run for each size, in order.

    Args:
        arguments: The program's arguments, separated by spaces, by size.
        outputs: The program's expected output by size, where it is known.
    """
    return tuple(
        Run(size, tuple(text.split()), expected=outputs[size].encode() if size in outputs else None)
        for size, text in arguments.items()
    )


def split_sizes(text: str, sizes: Sequence[str] | None) -> tuple[str, Sequence[str] | None]:
    """Return a name and the sizes after it, as in "fft@small,large"; without any, the given sizes."""
    name, separator, suffix = text.partition("@")
    return name, suffix.split(",") if separator else sizes


def choose_runs(program: str, runs: Sequence[Run], sizes: Sequence[str] | None) -> tuple[Run, ...]:
    """Return the runs of the given sizes, smallest first; None takes all.

    Raises:
        UnknownName: the program has no such size.
        InputError: `sizes` is empty, or a string instead of a sequence of strings.
    """
    if sizes is None:
        return tuple(runs)
    known = [run.name for run in runs]
    if isinstance(sizes, str) or not sizes:
        raise InputError(
            f"{program}: sizes is {sizes!r}; expected a sequence of {', '.join(known)}, or None for all"
        )
    for size in sizes:
        if size not in known:
            raise UnknownName.among(f"size of {program!r}", size, known)
    return tuple(run for run in runs if run.name in sizes)
