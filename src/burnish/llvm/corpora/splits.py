"""Splits of a corpus into training, validation and test programs: by folder, without repeated programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from burnish.core.errors import InputError
from burnish.files import write_atomically
from burnish.llvm.corpora.manifest import SPLITS
from burnish.llvm.corpora.pack import PackRow

FILE = "splits.json"


def group_of(row: PackRow) -> str:
    """Return the folder of a row's file, package first; all files of a folder go to the same split."""
    return row.name.rpartition("/")[0]


def file_of(row: PackRow) -> str:
    """Return a row's source file, package first; all functions of a file have the same one."""
    folder, _, name = row.name.rpartition("/")
    return f"{folder}/{name.partition(':')[0]}"


def assign_splits(groups: Mapping[str, int], shares: Mapping[str, float], seed: int) -> dict[str, str]:
    """Assign groups to splits, largest first, each to the split that lacks most programs of its share.

    A group has a number of programs. Shares are relative to their sum: {"train": 8, "val": 1, "test": 1}. The
    seed decides the order among groups of equal size.
    """
    total = sum(shares.values())
    if total <= 0 or min(shares.values()) < 0:
        raise InputError(f"expected positive shares of splits, such as train=8,val=1,test=1, not {shares}")
    names = sorted(groups)
    order = [names[i] for i in np.random.default_rng(seed).permutation(len(names))]
    programs = sum(groups.values())
    lacking = {split: programs * share / total for split, share in shares.items()}
    found = {}
    for name in sorted(order, key=lambda name: -groups[name]):
        split = max(lacking, key=lambda split: lacking[split])
        found[name] = split
        lacking[split] -= groups[name]
    return dict(sorted(found.items()))


def apply_splits(rows: Sequence[PackRow], splits: Mapping[str, str]) -> list[PackRow]:
    """Return rows with the split of their file, else of their folder, else of their package."""
    if not splits:
        return list(rows)
    found = []
    for row in rows:
        named = (one for one in (file_of(row), group_of(row), row.package) if one in splits)
        split = next(named, None)
        found.append(replace(row, split=splits[split]) if split else row)
    return found


def without_repeats(rows: Sequence[PackRow]) -> list[PackRow]:
    """Return rows so that no program is in two splits; programs that differ only in names are the same.

    The first split in the order of `SPLITS` keeps a program; in the others its status becomes "repeated".
    Repeats of programs in packages that are not built cannot be found here. For the public packages, the
    manifest lists them (Package.repeats).
    """
    rank = {split: number for number, split in enumerate(SPLITS)}
    owner: dict[tuple[str, int], PackRow] = {}
    for row in sorted(rows, key=lambda row: (rank.get(row.split, len(rank)), row.name)):
        if row.is_program:
            owner.setdefault((row.structure, row.instructions), row)
    found = []
    for row in rows:
        first = owner.get((row.structure, row.instructions), row)
        if row.is_program and first.split != row.split:
            reason = repeat_reason(f"{first.name} in {first.split}")
            row = replace(row, status="repeated", reason=reason)
        found.append(row)
    return found


def repeat_reason(other: str) -> str:
    """Return the reason why a program is left out; `other` is "PROGRAM in SPLIT"."""
    return f"the same program as {other}"


def read_splits(folder: Path) -> dict[str, str]:
    """Return a corpus folder's own splits, by group; {} if the packages' splits apply."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        splits = json.loads(path.read_text(encoding="utf-8"))["splits"]
        return {str(group): str(split) for group, split in splits.items()}
    except (ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); remove it, or split again") from None


def write_splits(folder: Path, splits: Mapping[str, str], seed: int) -> None:
    """Write a corpus folder's own splits."""
    text = json.dumps({"seed": seed, "splits": splits}, indent=1) + "\n"
    write_atomically(folder / FILE, text.encode())


def remove_splits(folder: Path) -> None:
    """Remove a corpus folder's own splits, so that the packages' splits apply again."""
    (folder / FILE).unlink(missing_ok=True)
