"""The programs of an evaluation, by name, and their projects."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.program_source import Programs, ProgramSource
from burnish.core.task import Task


@dataclass(frozen=True)
class Case:
    """A program that `load` reads."""

    name: str  # a reference or a file
    project: str
    programs: Sequence[Program] = field(repr=False)
    index: int = 0
    source: ProgramSource | None = field(default=None, repr=False)

    def load(self) -> Program:
        """Read the program.

        Raises:
            InputError: the program no longer exists, or cannot be read.
        """
        return dataclasses.replace(self.programs[self.index], name=self.name)

    def variants(self) -> dict[str, Program]:
        """Return, by baseline, the programs for baselines whose front end makes another one.

        Raises:
            InputError: the program no longer exists, or cannot be read.
        """
        return self.source.variants(self.name) if self.source else {}


def cases_of(texts: Sequence[str], task: Task) -> list[Case]:
    """Return all programs that some texts stand for, each once.

    Args:
        texts: Texts that the task's source takes.
        task: The task that reads the programs.

    Raises:
        InputError: there are no such programs.
    """
    found: dict[str, Case] = {}
    source = task.source()
    for text in texts:
        names = source.expand(text)
        programs = _when_needed(source, text) if names == [text] else source.open(text)
        for index, name in enumerate(names):
            found.setdefault(name, Case(name, source.project(name), programs, index, source))
    if not found:
        raise InputError("there are no programs to evaluate")
    return list(found.values())


def _when_needed(source: ProgramSource, name: str) -> Programs:
    """Return one program without reading it, because it may be unreadable."""
    return Programs([name], partial(_read, source))


def _read(source: ProgramSource, name: str) -> Program:
    return source.load(name).program


def sampled(cases: Sequence[Case], count: int | None, seed: int) -> list[Case]:
    """Return a random sample of the cases, in their order; None: all cases."""
    if count is None or count >= len(cases):
        return list(cases)
    return [cases[i] for i in sorted(np.random.default_rng(seed).permutation(len(cases))[:count])]
