"""The programs that a configuration names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np

from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program
from burnish.core.program_source import Programs
from burnish.core.task import Task
from burnish.learning.training.config import Source
from burnish.llvm.corpora.store import Corpus


@dataclass(frozen=True)
class SourcePrograms:
    """The programs of one source."""

    source: Source
    programs: Sequence[Program] = field(repr=False)
    change: Callable[[Program], Program] | None = None  # makes the variant of a program

    def program(self, number: int) -> Program:
        """Return one program; a variant's name ends with the name of the variant."""
        program = self.programs[number]
        if not self.change:
            return program
        return replace(self.change(program), name=f"{program.name} {self.source.variant}")

    def describe(self) -> dict[str, Any]:
        """Return the source's entry in a card: reference, number of programs, variant, splits, digest.

        A corpus has its own digest, over contents. Programs that are made on demand have a digest over names.
        """
        programs = self.programs
        said = {"use": self.source.use, "count": len(programs)}
        if self.change:
            said["variant"] = self.source.variant
        if isinstance(programs, Corpus):
            splits = sorted({row.split for row in programs.programs})
            return said | {"splits": splits, "digest": programs.digest}
        text = "\n".join(_names(programs)).encode()
        return said | {"names_digest": hashlib.blake2b(text, digest_size=16).hexdigest()}


@dataclass(frozen=True)
class Chosen(Sequence[Program]):
    """Programs of several parts in a random order; each is opened on access."""

    parts: tuple[SourcePrograms, ...]
    order: tuple[tuple[int, int], ...] = field(repr=False)  # (part, number in the part)

    def ordered(self, order: tuple[tuple[int, int], ...]) -> Chosen:
        """Return the programs of these places, in this order."""
        return replace(self, order=order)

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
        return self.parts[part].program(number)


def choose(sources: Sequence[Source], where: str, task: Task) -> Chosen:
    """Return the programs of some sources, in a random order that depends only on the sources' seeds.

    Neighbours in a corpus belong to one project, and environments should not play them one after the other.

    `where` is the table of the configuration, for errors: "programs".

    Raises:
        InputError: a reference has no programs, or a source that is not a corpus has limits on sizes.
        UnknownName: the task has no such variant.
    """
    parts = tuple(
        SourcePrograms(source, _of(source, f"{where}[{number}]", task), _variant(source, task))
        for number, source in enumerate(sources)
    )
    pairs = [(i, j) for i, part in enumerate(parts) for j in range(len(part.programs))]
    rng = np.random.default_rng([source.seed for source in sources])
    return Chosen(parts, tuple(pairs[i] for i in rng.permutation(len(pairs))))


def _variant(source: Source, task: Task) -> Callable[[Program], Program] | None:
    if source.variant and source.variant not in task.files.variants:
        raise UnknownName.among("variant", source.variant, task.files.variants)
    return task.files.variants.get(source.variant)


def _of(source: Source, where: str, task: Task) -> Sequence[Program]:
    try:
        programs = task.source().open(source.use)
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
            raise InputError(f"{where}: no program of the {len(programs)} in {source.use} has such a size")
        return chosen
    if source.even or source.largest is not None or source.smallest > 1:
        raise InputError(f"{where}: sizes apply to a corpus only, and {source.use} is not a corpus")
    if source.count is None or source.count >= len(programs):
        return programs
    numbers = np.random.default_rng(source.seed).permutation(len(programs))[: source.count]
    if isinstance(programs, Programs):
        return Programs([programs.names[i] for i in sorted(numbers)], programs.load)
    return [programs[i] for i in sorted(numbers)]


def _names(programs: Sequence[Program]) -> Sequence[str]:
    if isinstance(programs, Programs):
        return programs.names
    return [f"{program.name} {program.digest}" for program in programs]
