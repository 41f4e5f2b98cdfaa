"""The compared programs: held-out ones of each family, large products, networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from burnish.core.errors import InputError, UnknownName
from burnish.tasks.mlir_schedules.writing import sets
from burnish.tasks.mlir_schedules.writing.families import OF_BATCHES

MATMUL, LARGE_MATMUL, NETWORK = "matmul", "matmul-1024", "network"
CHANNELS_FIRST, MEMORY = "channels-first", "memory"
FAMILIES: Mapping[str, tuple[str, ...]] = {
    MATMUL: ("matmul",),
    "product": ("matmul-at", "matmul-bt", "batch-matmul", "batch-matmul-bt"),
    "conv": (
        *("conv2d", "conv2d-1x1", "conv2d-5x5", "conv2d-strided", "conv2d-1x1-strided"),
        *("conv2d-7x7-strided", "conv2d-dilated", "conv2d-nchw", "conv2d-nchw-strided"),
    ),
    "depthwise": ("depthwise", "depthwise-strided", "depthwise-nchw"),
    "pool": ("maxpool", "maxpool-3x3", "maxpool-nchw", "sumpool"),
    "elementwise": ("add", "relu"),
    "fused": (
        *("matmul-relu", "matmul-bias-relu", "bias-relu", "conv2d-padded", "conv2d-relu"),
        *("separable", "residual", "attention"),
    ),
    "rows": ("softmax", "layer-norm", "sum-rows", "sum-columns", "max-rows", "transpose"),
}
"""The families of each group."""
GROUPS = (MATMUL, LARGE_MATMUL, *list(FAMILIES)[1:], NETWORK)
LISTED: Mapping[str, tuple[str, ...]] = {  # programs in no set; a table of their own
    CHANNELS_FIRST: (
        *("conv2d-batch:8x3x230x230x64x7x2x0", "conv2d-batch:1x3x224x224x64x7x2x3"),
        *("conv2d-batch:8x32x64x64x64x7x2x3", "conv2d-batch:32x32x28x28x64x5x1x2"),
        *("conv2d-batch:8x64x56x56x64x3x1x1", "conv2d-batch:8x128x28x28x128x3x1x1"),
        *("conv2d-batch:8x256x14x14x256x3x1x1", "conv2d-batch:8x512x7x7x512x3x1x1"),
        *("conv2d-batch:8x64x56x56x128x3x2x1", "conv2d-batch:256x16x14x14x32x3x1x0"),
        *("conv2d-batch:1x128x58x58x128x3x1x0", "conv2d-batch:8x64x56x56x256x1x1x0"),
        "conv2d-batch:8x256x56x56x512x1x2x0",
    ),
    MEMORY: ("add:4096x4096", "relu:4096x4096", "relu:8x64x112x112", "matmul:4096x1x4096"),
}
"""Programs that MLIR-RL's users have: batches with channels first, and tensors that are in no cache."""

COUNTS: Mapping[str, int] = {"matmul": 5, "conv2d": 3, "maxpool": 3, "add": 3, "relu": 2}
"""The number of held-out programs by family; each other family has one."""
ALWAYS = ("matmul:512x512x512", "conv2d:56x56x64x64", "maxpool:112x112x64", "add:1024x1024x4")
LARGE = "matmul:1024x1024x1024"
LARGEST = 512  # extent of all other matmuls
NETWORKS = ("resnet18", "mobilenet", "bert-layer", "gpt2-block")  # of burnish's from_torch.networks


@dataclass(frozen=True)
class Case:
    """A program to compare."""

    name: str  # a family's program, one of NETWORKS, or a torch module: 'models.py:convnext'
    group: str  # one of GROUPS or LISTED

    @property
    def op(self) -> str:
        """The family of the program; for a network its name."""
        return op_of(self.name)

    @property
    def split(self) -> str:
        """The split that the program is in: train or test; none for a network or a listed program."""
        if self.group == NETWORK or self.group in LISTED:
            return "none"
        return "test" if sets.is_held_out(self.name) else "train"


def held_out(family: str) -> list[str]:
    """Return held-out programs of a family, the smallest first, then its programs in ALWAYS."""
    named = [name for name in sets.names(family, "test") if name != LARGE]
    if family == MATMUL:
        named = [name for name in named if max(_extents(name)) <= LARGEST]
    ordered = sorted(named, key=lambda name: (math.prod(_extents(name)), name))
    count = min(COUNTS.get(family, 1), len(ordered))
    chosen = [ordered[(2 * i + 1) * len(ordered) // (2 * count)] for i in range(count)]
    return list(dict.fromkeys([*chosen, *(name for name in ALWAYS if name.partition(":")[0] == family)]))


def every() -> list[Case]:
    """Return all cases, group by group."""
    found = [
        Case(name, group)
        for group, families in FAMILIES.items()
        for family in families
        for name in held_out(family)
    ]
    found.append(Case(LARGE, LARGE_MATMUL))
    found += [Case(name, NETWORK) for name in NETWORKS]
    return sorted(found, key=lambda case: GROUPS.index(case.group))


def choose(groups: Sequence[str] = GROUPS, only: str = "*") -> list[Case]:
    """Return the cases of some groups whose names match a pattern; commas separate several patterns.

    A pattern that names a program outside the sets, or a torch module, adds that program as a case.

    Raises:
        UnknownName: there is no such group.
        InputError: no case matches.
    """
    if unknown := [group for group in groups if group not in (*GROUPS, *LISTED)]:
        raise UnknownName.among("group of cases", unknown[0], (*GROUPS, *LISTED))
    patterns = only.split(",")
    cases = [case for case in every() if case.group in groups]
    cases += [Case(name, group) for group in groups for name in LISTED.get(group, ())]
    chosen = [case for case in cases if any(fnmatch(case.name, one) for one in patterns)]
    named = {case.name for case in chosen}
    chosen += [Case(one, group_of(one)) for one in patterns if _is_program(one) and one not in named]
    if not chosen:
        known = ", ".join(case.name for case in cases)
        raise InputError(f"--only {only}: expected a pattern of one or more of {known}")
    return chosen


def op_of(name: str) -> str:
    """Return the family of a program; for a network its name."""
    family, _, rest = name.partition(":")
    return rest if family.endswith(".py") else family


def group_of(name: str) -> str:
    """Return the group of a program of a family.

    Raises:
        InputError: no group has the family.
    """
    family = name.partition(":")[0]
    if family.endswith(".py"):
        return NETWORK
    if family == OF_BATCHES:
        return CHANNELS_FIRST
    for group, families in FAMILIES.items():
        if family in families:
            return group
    raise InputError(
        f"{name}: no group has {family}; expected one of {', '.join(sum(FAMILIES.values(), ()))}"
    )


def _is_program(text: str) -> bool:
    return ":" in text and not set(text) & set("*?[")


def _extents(name: str) -> list[int]:
    return [int(number) for number in name.partition(":")[2].split("x")]
