"""The programs that a configuration names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.corpora import references
from burnish.corpora.references import resolve
from burnish.corpora.store import Corpus
from burnish.training.config import Source


@dataclass(frozen=True)
class Part:
    """What one source stands for."""

    source: Source
    programs: Sequence[Program] = field(repr=False)

    def describe(self) -> dict[str, Any]:
        """Return what a card says of it: reference, how many, which splits, digest.

        The digest is a corpus' own, over contents; of others it is over names, since those are made when they
        are asked for.
        """
        programs = self.programs
        said = {"use": self.source.use, "count": len(programs)}
        if isinstance(programs, Corpus):
            splits = sorted({row.split for row in programs.programs})
            return said | {"splits": splits, "digest": programs.digest}
        text = "\n".join(_names(programs)).encode()
        return said | {"names_digest": hashlib.blake2b(text, digest_size=16).hexdigest()}


@dataclass(frozen=True)
class Chosen(Sequence[Program]):
    """Programs of several parts in a random order; each is opened when it is asked for."""

    parts: tuple[Part, ...]
    order: tuple[tuple[int, int], ...] = field(repr=False)  # part, and number in it

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Program: ...
    @overload
    def __getitem__(self, index: slice) -> Chosen: ...
    def __getitem__(self, index: int | slice) -> Program | Chosen:
        if isinstance(index, slice):
            return Chosen(self.parts, self.order[index])
        part, number = self.order[index]
        return self.parts[part].programs[number]


def choose(sources: Sequence[Source], where: str, *, level: str = "Oz") -> Chosen:
    """Return the programs of some sources, in an order that depends on their seeds only.

    Neighbours in a corpus are of one project: whoever takes them in turn should not see them in a row.

    Args:
        sources: Which.
        where: The table of the configuration, for errors: "programs".
        level: What clang's front end is told, of what is compiled from source.

    Raises:
        InputError: a reference stands for nothing, or sizes are asked for of what is no corpus.
    """
    parts = tuple(
        Part(source, _of(source, f"{where}[{number}]", level)) for number, source in enumerate(sources)
    )
    pairs = [(i, j) for i, part in enumerate(parts) for j in range(len(part.programs))]
    rng = np.random.default_rng([source.seed for source in sources])
    return Chosen(parts, tuple(pairs[i] for i in rng.permutation(len(pairs))))


def _of(source: Source, where: str, level: str) -> Sequence[Program]:
    try:
        programs = resolve(source.use, level=level)
    except InputError as error:
        raise InputError(f"{where}.use: {error}") from None
    if isinstance(programs, Corpus):
        chosen = programs.sample(
            source.count or len(programs),
            source.seed,
            smallest=source.smallest,
            largest=source.largest,
            even=source.even,
        )
        if not len(chosen):
            raise InputError(f"{where}: none of the {len(programs)} programs of {source.use} is of that size")
        return chosen
    if source.even or source.largest is not None or source.smallest > 1:
        raise InputError(f"{where}: sizes can be chosen of a corpus only, and {source.use} is none")
    if source.count is None or source.count >= len(programs):
        return programs
    numbers = np.random.default_rng(source.seed).permutation(len(programs))[: source.count]
    if isinstance(programs, references.Programs):
        return references.Programs([programs.names[i] for i in sorted(numbers)], programs.load)
    return [programs[i] for i in sorted(numbers)]


def _names(programs: Sequence[Program]) -> Sequence[str]:
    if isinstance(programs, references.Programs):
        return programs.names
    return [f"{program.name} {program.digest}" for program in programs]
