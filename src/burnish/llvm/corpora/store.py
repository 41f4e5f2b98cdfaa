"""A corpus on disk: a folder of packs; opening it reads only their rows."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.llvm.corpora.datasets.runs import stored_workload
from burnish.llvm.corpora.manifest import packages_in
from burnish.llvm.corpora.pack import SUFFIX, PackRow, read_pack, read_program
from burnish.llvm.corpora.splits import apply_splits, read_splits, without_repeats


@dataclass(frozen=True)
class Corpus(Sequence[Program]):
    """Programs in a fixed order, by name; each is read from its pack on access.

    A corpus is small and can be pickled, because worker processes read the packs themselves.
    """

    folder: Path
    rows: tuple[PackRow, ...] = field(repr=False)
    """All files, including failed and skipped ones; `programs` has only those that can be opened."""
    packs: dict[str, tuple[Path, int]] = field(repr=False, hash=False)
    """By package: the pack, and the offset of its content."""

    @cached_property
    def programs(self) -> tuple[PackRow, ...]:
        """The rows of programs that can be opened; `corpus[i]` is the program of the i-th row."""
        return tuple(row for row in self.rows if row.is_program)

    def __len__(self) -> int:
        return len(self.programs)

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> Corpus: ...
    def __getitem__(self, index: int | slice) -> Program | Corpus:
        if isinstance(index, slice):
            return self._with(self.programs[index])
        return self.open(self.programs[index])

    def open(self, row: PackRow) -> Program:
        """Return the program of a row; one that an imported dataset can run has its first input."""
        path, content_at = self.packs[row.package]
        program = read_program(path, content_at, row)
        workload = stored_workload(self.folder, row.path)
        return dataclasses.replace(program, workload=workload) if workload else program

    def find(self, name: str) -> Program:
        """Return the program of that name, package/path."""
        if (row := self._by_name.get(name)) is None:
            raise UnknownName.among(f"program in {self.folder}", name, _near(name, self._by_name))
        if not row.is_program:
            raise UnknownName(f"{name}: {row.status}: {row.reason or 'there is no code in it'}")
        return self.open(row)

    @cached_property
    def _by_name(self) -> dict[str, PackRow]:
        return {row.name: row for row in self.rows}

    def split(self, name: str) -> Corpus:
        """Return the programs of "train", "val" or "test"; "test@1" is the public split's first version.

        Raises:
            UnknownName: the corpus has no such split, or the split has no such version.
            InputError: a package of the version is not built, or the folder has its own splits.
        """
        known = dict.fromkeys(row.split for row in self.rows)
        split, at, _ = name.partition("@")
        if split not in known:
            raise UnknownName.among(f"split in {self.folder}", split, known)
        if not at:
            return self.where(lambda row: row.split == split)
        packages = {package.name for package in packages_in(name)}
        if read_splits(self.folder):
            raise InputError(
                f"{self.folder}: this corpus has its own splits, without versions; expected {split}"
            )
        if missing := sorted(packages - self.packs.keys()):
            raise InputError(
                f"{self.folder}: {', '.join(missing)} of {name} not built; go on with: burnish corpus build "
                f"--split {split} --folder {self.folder}"
            )
        return self.where(lambda row: row.split == split and row.package in packages)

    def part(self, name: str) -> Corpus:
        """Return the programs of a split or of a package."""
        splits = dict.fromkeys(row.split for row in self.rows)
        if name.partition("@")[0] in splits:
            return self.split(name)
        if name in self.packs:
            return self.where(lambda row: row.package == name)
        raise UnknownName.among(f"split or package in {self.folder}", name, [*splits, *self.packs])

    def where(self, wanted: Callable[[PackRow], bool]) -> Corpus:
        """Return the corpus of the rows that satisfy `wanted`, in the same order."""
        return self._with(row for row in self.rows if wanted(row))

    def shuffled(self, seed: int) -> Corpus:
        """Return the programs in a random order that depends only on the seed."""
        order = np.random.default_rng(seed).permutation(len(self.programs))
        return self._with(self.programs[i] for i in order)

    def sample(
        self, count: int, seed: int, *, smallest: int = 1, largest: int | None = None, even: bool = False
    ) -> Corpus:
        """Return random programs of some sizes, without repetition; all of them if there are too few.

        Sizes are IR instructions, inclusive. With `even`, each power-of-two range of sizes has equally many
        programs, as far as possible; by default each program has the same probability.
        """
        rows = [r for r in self.programs if smallest <= r.instructions <= (largest or r.instructions)]
        order = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
        return self._with((_one_of_each_size(order) if even else order)[:count])

    @cached_property
    def digest(self) -> str:
        """32 hexadecimal digits over names, splits and contents, independent of the order."""
        lines = sorted(f"{row.name}\0{row.split}\0{row.digest}\n" for row in self.programs)
        return hashlib.blake2b("".join(lines).encode(), digest_size=16).hexdigest()

    def _with(self, rows: Iterable[PackRow]) -> Corpus:
        return dataclasses.replace(self, rows=tuple(rows))


def open_corpus(folder: Path | str) -> Corpus:
    """Open a corpus that `burnish corpus build` made; only the rows are read. No program is in two splits.

    Raises:
        InputError: the folder has no packs, or a pack is damaged.
    """
    folder = Path(folder)
    packs = [read_pack(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    if not packs:
        raise InputError(f"{folder}: no corpus there; make one with: burnish corpus build --folder {folder}")
    rows = [row for pack in packs for row in pack.rows]
    rows = without_repeats(apply_splits(rows, read_splits(folder)))
    rows.sort(key=lambda row: (row.package, row.path))
    return Corpus(folder, tuple(rows), {pack.package: (pack.path, pack.content_at) for pack in packs})


def _one_of_each_size(rows: Sequence[PackRow]) -> list[PackRow]:
    """Return rows in turns from each power-of-two range of sizes, so that every prefix is balanced."""
    seen: Counter[int] = Counter()
    turns = []
    for row in rows:
        size = row.instructions.bit_length()
        seen[size] += 1
        turns.append((seen[size], row))
    return [row for _, row in sorted(turns, key=lambda pair: pair[0])]


def _near(name: str, known: Iterable[str]) -> list[str]:
    """Return names to suggest: with the same last part if any, because long names are all similar."""
    last = name.rpartition("/")[2]
    names = list(known)
    same = [other for other in names if other.rpartition("/")[2] == last]
    return same or difflib.get_close_matches(name, names, n=3) or names
