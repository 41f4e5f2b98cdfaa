"""Sets of names of programs, with splits for training and for tests (held out)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.mlir_schedules.writing.families import FAMILIES, OF_BATCHES

SPLITS = ("train", "test", "all")
HELD_OUT = 10  # one of this many names is in the test split
EVERY = "schedules"  # the set of all families
SAMPLE = "sample"  # some of each family
OF_EACH = 20  # programs of a family in the sample, or fewer if there are fewer
RANDOM = "random"
FIRST_SEED = 1_000_000  # of the random programs of sets: larger than seeds that users name
LARGE = 1250  # programs

# all of these names are held out
SMALL = (
    *(f"matmul:{shape}" for shape in ("512x512x512", "1024x1024x1024", "128x3072x768", "32x1000x2048")),
    *(f"conv2d:{shape}" for shape in ("56x56x64x64", "28x28x128x128", "14x14x256x256", "7x7x512x512")),
    *("add:1024x1024x4", "add:1x56x56x256", "add:512x768"),
    *("maxpool:112x112x64", "maxpool:56x56x128", "maxpool:28x28x256"),
    *("relu:1x112x112x64", "relu:1x28x28x128", "relu:512x3072"),
)


def names(family: str, split: str = "all") -> list[str]:
    """Return the names of a set or a family, in the split 'train', 'test' (see `is_held_out`) or 'all'.

    Raises:
        UnknownName: there is no such set or split.
        InputError: the split is empty.
    """
    if family not in SETS:
        raise UnknownName.among("set of programs", family, SETS)
    if split not in SPLITS:
        raise UnknownName.among(f"split of {family}", split, SPLITS)
    found = [name for name in SETS[family]() if split == "all" or is_held_out(name) == (split == "test")]
    if not found:
        raise InputError(f"{family}:{split}: there is no program in this split; expected {family}:all")
    return found


def is_held_out(name: str) -> bool:
    """Return whether a name is in the test split: in the small set, or one of ten by its digest."""
    return name in SMALL or hashlib.blake2b(name.encode(), digest_size=4).digest()[0] % HELD_OUT == 0


def _of_family(family: str) -> list[str]:
    return [f"{family}:{'x'.join(map(str, shape))}" for shape in dict.fromkeys(FAMILIES[family].shapes)]


def _published() -> list[str]:
    return [family for family in FAMILIES if family != OF_BATCHES]


def _every() -> list[str]:
    return [name for family in _published() for name in _of_family(family)]


def _sample() -> list[str]:
    return [name for family in _published() for name in _evenly(_of_family(family), OF_EACH)]


@cache
def _large() -> tuple[str, ...]:
    """Return some programs of each family, and random chains for the rest."""
    single = _sample()
    return (*single, *(f"{RANDOM}:{FIRST_SEED + number}" for number in range(LARGE - len(single))))


def _evenly(among: Sequence[str], count: int) -> list[str]:
    """Return `count` of the given names, evenly spaced; all if there are fewer."""
    step = max(1.0, len(among) / count)
    return [among[int(number * step)] for number in range(min(count, len(among)))]


SETS: Mapping[str, Callable[[], Sequence[str]]] = {
    EVERY: _every,
    SAMPLE: _sample,
    "set17": lambda: SMALL,
    "set1250": _large,
    **{family: partial(_of_family, family) for family in FAMILIES},
}
