"""The programs of an evaluation, by name, and the projects that they are of."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.corpora.references import (
    Programs,
    database_of,
    expand,
    is_reference,
    is_runnable,
    name_in,
    resolve,
    resolve_one,
)
from burnish.corpora.store import Corpus


@dataclass(frozen=True)
class Case:
    """A program that is read when it is needed."""

    name: str  # a reference or a file
    project: str
    programs: Sequence[Program] = field(repr=False)
    index: int = 0
    level: str = "Oz"

    def load(self) -> Program:
        """Read the program.

        Raises:
            InputError: it is not there any more, or cannot be read.
        """
        return dataclasses.replace(self.programs[self.index], name=self.name)

    def variants(self) -> dict[str, Program]:
        """Return the program as the front end makes it at -O0, where it is made from source.

        Raises:
            InputError: it is not there any more, or cannot be read.
        """
        return {"O0": resolve_one(self.name, level="O0")} if is_runnable(self.name) else {}


def cases_of(texts: Sequence[str], *, level: str = "Oz") -> list[Case]:
    """Return all programs that some names stand for, each once.

    A program of a corpus is of its package's project, a file of its folder's; any other program is a project
    of its own.

    Args:
        texts: Files, or names as in burnish.corpora.references.
        level: What clang's front end is told, for C and C++ files and the runnable programs.

    Raises:
        InputError: there is no such program.
    """
    found: dict[str, Case] = {}
    for text in texts:
        names = expand(text)
        if names == [text] and not is_reference(text):  # read when it is needed: it may not be readable
            programs: Sequence[Program] = Programs(names, functools.partial(resolve_one, level=level))
        else:
            programs = resolve(text, level=level)
        for index, name in enumerate(names):
            found.setdefault(name, Case(name, _project(name, programs, index), programs, index, level))
    if not found:
        raise InputError("there are no programs to evaluate")
    return list(found.values())


def sampled(cases: Sequence[Case], count: int | None, seed: int) -> list[Case]:
    """Return some of the cases, in their order; all of them for None."""
    if count is None or count >= len(cases):
        return list(cases)
    return [cases[i] for i in sorted(np.random.default_rng(seed).permutation(len(cases))[:count])]


def _project(name: str, programs: Sequence[Program], index: int) -> str:
    if isinstance(programs, Corpus):
        return programs.programs[index].package
    if found := database_of(name):
        return found[0].absolute().parent.name
    if not is_reference(name):
        return Path(name).absolute().parent.name
    return name_in(name).partition("@")[0]
