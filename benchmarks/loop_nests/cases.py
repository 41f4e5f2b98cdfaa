"""The compared nests: held-out matmuls, larger ones, one of every other kind, some expressions of no kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.loop_nests.families import find, names
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from loop_nests.own import OWN

MATMULS = 20  # of the 215 held-out ones
LARGE = (512, 1024)
KINDS = (
    *("stencil5", "stencil7", "stencil9"),
    *("conv1d", "conv1d-strided", "conv2d", "conv2d-strided", "depthwise"),
    *("batched-matmul", "matmul-at", "matmul-bt", "matmul-relu", "contraction-ab", "contraction-ac"),
    *("relu-chain", "softmax", "sum-rows", "sum-columns", "max-rows", "outer"),
)
SMALLEST = "outer:1x1"  # next to no work: its time is that of a call


@dataclass(frozen=True)
class Case:
    """A nest to compare."""

    name: str  # a name for families.find, or one of OWN
    group: str  # matmul, matmul-512, matmul-1024, nest, own; call for SMALLEST

    @property
    def family(self) -> str:
        """The kind of the nest."""
        return self.name.partition(":")[0]

    @property
    def split(self) -> str:
        """The split that the shape is in: train, test, or none."""
        if self.name in OWN:
            return "none"
        for split in ("train", "test"):
            if self.name in names(self.family, split):
                return split
        return "none"

    @property
    def nest(self) -> Nest:
        """The nest."""
        return parse(OWN[self.name].nest, self.name) if self.name in OWN else find(self.name)


def matmuls(count: int = MATMULS) -> list[Case]:
    """Return held-out matmuls, evenly spaced when ordered by their work, and the large ones."""
    ordered = _by_work(names("matmul", "test"))
    last = max(1, count - 1)
    chosen = dict.fromkeys(ordered[round(i * (len(ordered) - 1) / last)] for i in range(count))
    large = [Case(f"matmul:{n}x{n}x{n}", f"matmul-{n}") for n in LARGE]
    return [Case(name, "matmul") for name in chosen] + large


def others() -> list[Case]:
    """Return the held-out nest with the median work of each other kind."""
    cases = []
    for family in KINDS:
        ordered = _by_work(names(family, "test"))
        cases.append(Case(ordered[len(ordered) // 2], "nest"))
    return cases


def own() -> list[Case]:
    """Return the expressions that belong to no family."""
    return [Case(name, "own") for name in OWN]


def choose(kinds: Sequence[str], only: str = "*", count: int = MATMULS) -> list[Case]:
    """Return the cases of some kinds (matmul, nests, own) whose names match a pattern.

    Commas separate several patterns.

    Raises:
        UnknownName: there is no such kind.
        InputError: no case matches.
    """
    makers = {"matmul": lambda: matmuls(count), "nests": others, "own": own}
    if unknown := [kind for kind in kinds if kind not in makers]:
        raise UnknownName.among("kind of cases", unknown[0], makers)
    cases = [case for kind, make in makers.items() if kind in kinds for case in make()]
    chosen = [case for case in cases if any(fnmatch(case.name, one) for one in only.split(","))]
    if not chosen:
        known = ", ".join(case.name for case in cases)
        raise InputError(f"--only {only}: expected a pattern of one or more of {known}")
    return chosen


def _by_work(found: Iterable[str]) -> list[str]:
    return sorted(found, key=lambda name: (find(name).flops, name))
