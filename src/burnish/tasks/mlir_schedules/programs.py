"""Where programs come from: files of MLIR, names of families, seeds, text.

FILE.mlir                              a function `main` on tensors, see burnish.tasks.mlir_schedules.reading
FOLDER                                 all of these below it
matmul:512x512x512                     a program of a family
matmul:train  matmul:test  matmul:all  a part of a family's set
schedules:test  sample:train           the same of all families; as many of each as far as it has so many
set17:all  set1250:train               fixed sets: a small one that is held out, a large one
random:7  random:0..99                 random programs by seed
'func.func @main(...) ...'             the program itself
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from burnish.core.errors import InputError, ProgramError
from burnish.core.program import Program
from burnish.core.program_source import FileSource, Loaded
from burnish.tasks.mlir_schedules.reading import LANGUAGE, normal_text
from burnish.tasks.mlir_schedules.writing import families, sets
from burnish.tasks.mlir_schedules.writing.families import FAMILIES
from burnish.tasks.mlir_schedules.writing.generator import random_text
from burnish.tasks.mlir_schedules.writing.sets import RANDOM, SETS, SPLITS

SUFFIXES = (".mlir",)
SEEDS = re.compile(r"(\d{1,18})(?:\.\.(\d{1,18}))?")
MOST_SEEDS = 10_000_000  # of one range
TEXT = re.compile(r"\bfunc\.func\b[^{]*\{", re.DOTALL)


class MlirSource(FileSource):
    """Linalg programs in files, by name, or as they are written; each with the same digest in every form."""

    def __init__(self) -> None:
        super().__init__(LANGUAGE, SUFFIXES)
        self.kinds = (
            "a file (.mlir), a folder of such files, a name: matmul:512x512x512, set17:all, random:7,"
            " or the text of a program"
        )

    def takes(self, text: str) -> bool:
        """See ProgramSource."""
        return is_text(text) or is_name(text) or super().takes(text)

    def expand(self, text: str) -> list[str]:
        """See ProgramSource."""
        if is_text(text):
            return [text]
        if not is_name(text):
            return super().expand(text)
        family, _, rest = text.partition(":")
        if family == RANDOM:
            return [f"{RANDOM}:{seed}" for seed in _seeds(text)]
        if rest in SPLITS or family not in FAMILIES:
            return sets.names(family, rest)
        return [text]

    def load(self, name: str, arguments: Sequence[str] = (), directory: Path | None = None) -> Loaded:
        """See ProgramSource; there is no compiler to take arguments."""
        if is_text(name) or is_name(name):
            if arguments:
                raise InputError(f"{name}: {arguments[0]!r}: programs of MLIR take no compiler options")
            return Loaded(_written(name) if is_text(name) else _named(name))
        content = super().load(name, arguments, directory).program.content
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise ProgramError(
                f"{name}: byte {error.start} is not UTF-8; expected the text of a module"
            ) from None
        return Loaded(program(text, name))

    def file(self, name: str) -> Path | None:
        """See ProgramSource."""
        return None if is_text(name) or is_name(name) else super().file(name)

    def stem(self, name: str) -> str:
        """See ProgramSource."""
        return _written(name).name if is_text(name) else name

    def project(self, name: str) -> str:
        """Return a program's family, or its file's folder; what is written in place is its own project."""
        if is_text(name):
            return self.stem(name)
        return name.partition(":")[0] if is_name(name) else super().project(name)


def program(text: str, name: str) -> Program:
    """Return a program of a text, whose content is normal: the same for texts that differ in form only.

    Raises:
        ProgramError: it is none of this task; the message says what was expected.
        MissingTool: MLIR is not installed.
    """
    return Program(name, LANGUAGE, normal_text(text, name).encode())


def is_text(text: str) -> bool:
    """Say whether this is a program itself: it has a function with a body."""
    return TEXT.search(text) is not None


def is_name(text: str) -> bool:
    """Say whether this is a name of a family, of a set or of random programs, and not that of a file."""
    family, colon, _ = text.partition(":")
    return bool(colon) and (family in SETS or family == RANDOM) and not Path(text).exists()


def _written(text: str) -> Program:
    """Return a program that is named after its digest."""
    found = program(text, "the program")
    return replace(found, name=f"mlir-{found.digest[:8]}")


def _named(name: str) -> Program:
    family = name.partition(":")[0]
    if family == RANDOM:
        seeds = _seeds(name)
        if len(seeds) != 1:
            raise InputError(
                f"{name}: the text names {len(seeds)} programs; expected one seed, such as random:7"
            )
        return program(random_text(seeds[0]), name)
    if family not in FAMILIES:
        raise InputError(
            f"{name}: this is a set; expected {', '.join(f'{family}:{split}' for split in SPLITS)}"
        )
    return program(families.find(name), name)


def _seeds(text: str) -> range:
    """Return the seeds of 'random:7' or 'random:0..99'.

    Raises:
        InputError: it is not written so.
    """
    found = SEEDS.fullmatch(text.partition(":")[2])
    if not found:
        raise InputError(f"{text}: expected a seed, such as random:7, or seeds, such as random:0..99")
    first, last = int(found[1]), int(found[2] or found[1])
    if not first <= last < first + MOST_SEEDS:
        raise InputError(f"{text}: expected seeds from the smaller to the larger, {MOST_SEEDS} at most")
    return range(first, last + 1)
